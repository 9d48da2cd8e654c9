/**
 * The report of a benchmark: its schema is the one source of the types, of validation and of the JSON Schema.
 *
 * Times are microseconds of one layer, bytes are those of one layer.
 */
import * as z from 'zod';
import { count } from '../report.js';

export const BENCH_REPORT_VERSION = 1;

/** `pack`: a prompt into an empty sequence. `append`: the new tokens of a decode step. `attend`: attention over a context. */
export const BENCH_OPERATIONS = ['pack', 'append', 'attend'] as const;

const positive = z.int().min(1);
const amount = z.number().min(0);

/** Microseconds. Quartiles lie between neighbours in proportion. */
const spread = z.strictObject({
  samples: positive,
  minimum: amount,
  lowerQuartile: amount,
  median: amount,
  upperQuartile: amount,
  /** Median distance from the median. */
  deviation: amount,
});

const shape = z.strictObject({
  /** Sequences of a step. */
  batch: positive,
  /** Tokens that each sequence holds, about; null for appending, whose cost does not depend on it. */
  context: positive.nullable(),
  /** Of each sequence: the prompt that is packed, the tokens that are appended, or those whose queries attend. */
  tokens: positive,
  queryHeads: positive,
  kvHeads: positive,
  headDim: positive,
});

const identity = {
  scheme: z.string(),
  fingerprint: z.string(),
  /** Id of an entry of `backends`. */
  backend: z.string(),
  operation: z.literal(BENCH_OPERATIONS),
  shape,
};

const measured = z.strictObject({
  status: z.literal('measured'),
  ...identity,
  /** Of one layer, all sequences together. */
  microseconds: spread,
  /** What one layer has to read and write, without padding. */
  bytes: count,
  bytesPerSecond: amount,
  /** `bytesPerSecond` over that of the copy. */
  shareOfCopy: amount,
  /** Layers that are met in turn. */
  layers: positive,
  /** What those layers hold together; less than the last-level cache means that it may have served them. */
  rotatedBytes: count,
  /** Why the backend only emulates the scheme; empty when its own kernels ran it. */
  emulated: z.array(z.string()),
});

const unmeasured = z.strictObject({
  /** `refused`: cannot be planned or executed. `failed`: the backend could not finish it. */
  status: z.literal(['refused', 'failed']),
  ...identity,
  code: z.string(),
  reason: z.string(),
});

const backend = z.strictObject({
  id: z.string(),
  /** Model of the card or processor, and what else the backend says of it. */
  device: z.string(),
  /** Version of its driver or runtime; null where there is none, or none is known. */
  driver: z.string().nullable(),
  /** In words, before the first and after the last measurement; null where they are not known. */
  clocks: z.strictObject({ before: z.string(), after: z.string() }).nullable(),
  /** `gpu`: times of the device's own clock. `host`: of the host, from the call to the result. */
  clock: z.literal(['host', 'gpu']),
  lastLevelCacheBytes: positive.nullable(),
  /** A copy inside the memory of the device, measured in this run; bytes are read and written. */
  copy: z.strictObject({ microseconds: spread, bytes: positive, bytesPerSecond: amount }),
});

export const benchReportSchema = z.strictObject({
  reportVersion: z.literal(BENCH_REPORT_VERSION),
  kind: z.literal('bench'),
  /** When it began, ISO 8601 in UTC. */
  date: z.iso.datetime(),
  tool: z.strictObject({ version: z.string(), commit: z.string().nullable() }),
  command: z.string().nullable(),
  machine: z.strictObject({
    platform: z.string(),
    processor: z.string(),
    cores: positive,
    memoryBytes: positive,
    runtime: z.string(),
  }),
  settings: z.strictObject({ samples: positive, warmUpMilliseconds: amount }),
  backends: z.array(backend),
  rows: z.array(z.discriminatedUnion('status', [measured, unmeasured])),
});

export type BenchReport = z.infer<typeof benchReportSchema>;
export type BenchRow = BenchReport['rows'][number];
export type BenchMeasuredRow = z.infer<typeof measured>;
export type BenchShape = z.infer<typeof shape>;
export type BenchOperation = (typeof BENCH_OPERATIONS)[number];
export type BenchBackend = z.infer<typeof backend>;

/** JSON Schema (draft 2020-12) of a report. */
export function benchReportJsonSchema(): Record<string, unknown> {
  return z.toJSONSchema(benchReportSchema) as Record<string, unknown>;
}
