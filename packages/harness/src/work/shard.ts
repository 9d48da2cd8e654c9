/** A shard: the results of some units of a comparison or an evaluation, and all that is needed to put them together. */
import * as z from 'zod';
import { compareWorkSchema } from '../compare-work.js';
import { evalWorkSchema } from '../eval/eval-work.js';
import { count, memory } from '../report.js';

export const SHARD_VERSION = 1;

/** Who measured a shard, with which command and where. Differs from shard to shard. */
const provenance = z.strictObject({
  command: z.string().nullable(),
  machine: z.string().nullable(),
});

/** By scheme id: what pages and files show of a scheme beside its row. */
const shown = z.record(
  z.string(),
  z.strictObject({
    /** Code or JSON that gives a program this scheme. */
    config: z.string().optional(),
    memory: z.array(memory).optional(),
  }),
);

const shared = {
  shardVersion: z.literal(SHARD_VERSION),
  /** Of the program that measured, such as `lowbit-kv 0.1.0`. */
  version: z.string(),
  shard: z.strictObject({ index: count, of: count }),
  provenance,
  shown,
};

const pageClass = z.strictObject({
  tensor: z.literal(['key', 'value']),
  sinks: count,
  recent: count,
  flush: count,
  packing: z.literal(['before-attention', 'after-attention']),
  blockTokens: count,
  tokensPerGroup: count,
  statisticsTokens: count,
  slidingWindow: z.strictObject({ size: count, sinks: count }).nullable(),
  layers: z.array(count).readonly(),
});

export const evalFactsSchema = z.strictObject({
  plan: z.string(),
  classes: z.array(pageClass).readonly(),
  asymptoticBits: z.number(),
  calibration: z.string().nullable(),
});

const damaged = z.array(z.strictObject({ key: z.string(), reason: z.string() }));

/** The first line of a shard file. */
export const shardHeaderSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('compare'), ...shared, work: compareWorkSchema }),
  z.strictObject({
    kind: z.literal('eval'),
    ...shared,
    work: evalWorkSchema,
    /** Of f16 and the schemes that this shard has a part of, by id. */
    facts: z.record(z.string(), evalFactsSchema),
    /** Records of the store that were damaged and measured again. */
    damaged,
  }),
]);

export type ShardHeader = z.infer<typeof shardHeaderSchema>;
interface ShardWith<Header> {
  readonly header: Header;
  /** Results by the name of their unit. */
  readonly units: ReadonlyMap<string, unknown>;
}
export type CompareShard = ShardWith<Extract<ShardHeader, { kind: 'compare' }>>;
export type EvalShard = ShardWith<Extract<ShardHeader, { kind: 'eval' }>>;
export type Shard = CompareShard | EvalShard;

/** What a program says of itself and of the schemes, for the shards that it measures. */
export interface ShardContext {
  /** Shards of different versions are not merged. */
  readonly version: string;
  readonly command?: string;
  readonly machine?: string;
  readonly shown?: z.infer<typeof shown>;
}

/** The parts of a header that a context gives. */
export function headerOf({ version, command, machine, shown: given = {} }: ShardContext) {
  return {
    shardVersion: SHARD_VERSION,
    version,
    provenance: { command: command ?? null, machine: machine ?? null },
    shown: given,
  } as const;
}
