/**
 * The blocks that are programs: what they take as given, and what must be true of what they made.
 */
import { presets as kiviPresets } from '@lowbit-kv/scheme-kivi';
import { DEVICE_PROGRAMS } from './device-programs.js';
import { GUIDE_PROGRAMS } from './guide-programs.js';
import { MODEL_PROGRAMS } from './model-programs.js';
import type { ReaderFolder } from './reader-folder.js';

/** Names that a block uses and does not make; `exported` gets its default export. */
export type Given = Readonly<Record<string, unknown>>;

export interface Program {
  /** `onEnd`: work for when the program has ended. */
  readonly given?: (
    reader: ReaderFolder,
    onEnd: (work: () => unknown) => void,
  ) => Given | Promise<Given>;
  /** In place of modules that the block imports. */
  readonly modules?: () => Promise<Readonly<Record<string, object>>>;
  /** Texts of the block that name files and folders of the reader. */
  readonly paths?: readonly string[];
  /** An expression over what the block made; it must be true. */
  readonly holds: string;
}

const HEADS = 8;
const DIM = 128;

/** f16 bits of 1, `[tokens, 8, 128]`. */
const ones = (tokens: number) => new Uint16Array(tokens * HEADS * DIM).fill(0x3c00);

/** Keys and values of each of 32 layers, f32 `[64, 8, 128]`. */
async function* runsOfYourModel() {
  const tokens = 64;
  const rows = (seed: number) =>
    Float32Array.from({ length: tokens * HEADS * DIM }, (_, i) => Math.sin(seed + i * 1.7));
  for (let layer = 0; layer < 32; layer++)
    yield { layer, tokens, key: rows(layer), value: rows(layer + 0.5) };
}

async function* samples() {
  for await (const run of runsOfYourModel()) yield { ...run, kvHeads: HEADS };
}

/** A cache of 32 layers that takes a token. */
const IS_CACHE = 'cache.plan.layers.length === 32 && cache.createSequence().length === 0';
const CACHE: Program = { holds: IS_CACHE };
const COMPAT: Program = {
  given: () => ({ keyBits: ones(300), valueBits: ones(300) }),
  holds:
    'layer.keys().length === 300 * 8 * 128 && layer.keys().every((x) => Math.abs(x - 1) < 0.01)',
};

export const PROGRAMS: Readonly<Record<string, Program>> = {
  ...DEVICE_PROGRAMS,
  ...GUIDE_PROGRAMS,
  ...MODEL_PROGRAMS,
  'packages/cli/README.md#2': {
    given: () => ({ exported: [] }),
    holds: "exported[0].eval.windows === 4 && exported[0].eval.gate.failIf[0] === 'ppl.delta>2%'",
  },
  'packages/backend-onnx/README.md#2': {
    given: () => ({ schemes: kiviPresets }),
    holds: "kv.backends.get('onnx').id === 'onnx'",
  },
  'packages/harness/README.md#1': {
    given: () => ({ schemes: [kiviPresets[0]], console: { log: () => undefined } }),
    holds: "report.schemes.length === 2 && report.schemes[1].status === 'measured'",
  },
  'packages/harness/docs/benchmarks.md#1': {
    given: () => ({ schemes: [kiviPresets[0]], console: { log: () => undefined } }),
    holds: "report.rows.length > 3 && report.rows.every(({ status }) => status === 'measured')",
  },
  'packages/core/docs/observing.md#1': {
    given: () => {
      const lines: string[] = [];
      return { schemes: kiviPresets, backends: [], lines, log: (line: string) => lines.push(line) };
    },
    holds: `await kv.createCache(kv.plan('kivi-4bit-g32', { layers: 1, queryHeads: 1, kvHeads: 1, keyHeadDim: 64, valueHeadDim: 64 }), { capacity: { tokens: 64 } }),
      totals.get('create-store').calls === 1 && totals.get('probe').faults === 0 && lines.some((line) => line.includes('kivi-4bit-g32'))`,
  },
  'packages/scheme-kivi/README.md#1': CACHE,
  'packages/scheme-kivi/README.md#2': {
    given: async () => ({ createLowbitKv: (await import('@lowbit-kv/core')).createLowbitKv }),
    holds: 'kit.schemes.list().length > 1',
  },
  'packages/scheme-innerq/README.md#1': CACHE,
  'packages/scheme-innerq/README.md#2': COMPAT,
  'packages/scheme-baselines/README.md#1': CACHE,
  'packages/scheme-bitdecoding/README.md#1': CACHE,
  'packages/scheme-lowbit/README.md#1': CACHE,
  'packages/scheme-rotated/README.md#1': CACHE,
  'packages/scheme-turboquant/README.md#1': CACHE,
  'packages/scheme-kvquant/README.md#1': { given: () => ({ runsOfYourModel }), holds: IS_CACHE },
  'packages/scheme-oaken/README.md#1': { given: () => ({ runsOfYourModel }), holds: IS_CACHE },
  'packages/scheme-oaken/README.md#2': {
    given: () => ({ samples, keyBits: ones(40), valueBits: ones(40) }),
    holds: 'layer.keys().length === 40 * 8 * 128',
  },
  'packages/core/docs/errors.md#1': {
    given: async () => {
      const { LowbitKvError } = await import('@lowbit-kv/core');
      const disposed: unknown[] = [];
      const full = () => {
        const next = 'Give a sequence back.';
        throw new LowbitKvError('OUT_OF_PAGES', { message: 'the pool is full', next });
      };
      const cache = { append: full, disposeSequence: (one: unknown) => disposed.push(one) };
      return { LowbitKvError, cache, entries: [], layers: [], oldest: 'oldest', disposed };
    },
    holds: "disposed[0] === 'oldest'",
  },
  'packages/backend-onnx/docs/graphs.md#1': {
    given: packedSequence,
    holds: 'Math.abs(result.output.data[0] - 1) < 0.05 && result.output.dims.length === 3',
  },
};

/** A sequence with one packed block of ones in each tensor, and a query. */
async function packedSequence(): Promise<Given> {
  const { createLowbitKv, f16Tensor } = await import('@lowbit-kv/core');
  const { kivi } = await import('@lowbit-kv/scheme-kivi');
  const [heads, queryHeads, dim] = [HEADS, 32, DIM];
  const scheme = kivi({ bits: 4, residualLength: 32 });
  const kit = createLowbitKv({ schemes: [scheme] });
  const geometry = { layers: 1, queryHeads, kvHeads: heads, keyHeadDim: dim, valueHeadDim: dim };
  const cache = await kit.createCache(kit.plan(scheme.id, geometry), {
    capacity: { tokens: 1024 },
  });
  const sequence = cache.createSequence();
  const tokens = 256;
  const rows = f16Tensor(ones(tokens), [tokens, heads, dim]);
  await cache.append([{ sequence, tokens }], [{ key: rows, value: rows }]);
  return { cache, sequence, heads, queryHeads, dim, query: new Float32Array(queryHeads * dim) };
}
