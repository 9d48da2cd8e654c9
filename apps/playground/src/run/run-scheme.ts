/** One scheme on one layer through a real cache: packed, attended, read back, timed. */
import {
  type Backend,
  type Cache,
  createCache,
  type ExportedBlock,
  f16Tensor,
  f32Tensor,
  type Plan,
  type Scheme,
  type Sequence,
  type TensorCounts,
} from '@lowbit-kv/core';
import {
  addSums,
  type ExactAttention,
  errorSum,
  headErrors,
  keysAt,
  type LayerTensors,
  nmseOf,
  requireRotary,
  rotateKeys,
  type Stage,
  stageOf,
} from '@lowbit-kv/harness/browser';
import type { Dataset } from '../data/dataset.js';
import type { TensorName } from '../settings.js';
import { planScheme, type SchemePlans } from './scheme-plan.js';

export interface SchemeRun {
  readonly scheme: Scheme;
  /** What it was run on. */
  readonly layer: LayerTensors;
  readonly plans: SchemePlans;
  /** Of the layer. */
  readonly kvHeads: number;
  /** Keys and values as they are packed: f16 bits, `[tokens, kvHeads, headDim]`. */
  readonly appended: Readonly<Record<TensorName, Uint16Array>>;
  /** Decoded as attention sees them, `[tokens, kvHeads, headDim]`. */
  readonly held: Readonly<Record<TensorName, Float32Array>>;
  readonly blocks: Readonly<Record<TensorName, readonly ExportedBlock[]>>;
  /** In the order of the classes of the plan. */
  readonly counts: readonly TensorCounts[];
  /** `[queries, queryHeads, valueHeadDim]`. */
  readonly output: Float32Array;
  readonly nmse: {
    readonly key: number;
    readonly value: number;
    readonly output: number;
    /** By query head. */
    readonly heads: readonly number[];
  };
  readonly backend: Backend['id'];
  readonly milliseconds: Milliseconds;
}

export interface Milliseconds {
  /** All tokens of the layer. */
  readonly pack: number;
  /** One query of every head over all tokens. */
  readonly attend: number;
}

/** Throws what planning, calibrating and the backend throw. */
export async function runScheme(
  scheme: Scheme,
  data: Dataset,
  layer: LayerTensors,
  exact: ExactAttention,
  backend: Backend,
): Promise<SchemeRun> {
  const plans = await planScheme(scheme, data, layer);
  const stage = stageOf(plans.layer.scheme.key);
  const keys = keysAt(layer, stage);
  const appended = { key: keys.bits, value: layer.value };
  return withCache(plans.layer, data, appended, backend, async (cache, sequence, pack) => {
    const { queries, queryHeads, kvHeads, keyHeadDim, valueHeadDim } = data.sizes;
    const query = f32Tensor(layer.query, [queries, queryHeads, keyHeadDim]);
    const all = await cache.attend(0, query, [sequence], { queries: [queries] }).read();
    const output = all.output.data as Float32Array;
    const attend = await timeOfQuery(cache, sequence, layer, data);
    const held = await cache.materialize(sequence, 0);
    const stored = { key: held.key.data as Float32Array, value: held.value.data as Float32Array };
    const sums = (tensor: TensorName, truth: Float32Array, dim: number) =>
      nmseOf(addSums(headErrors(stored[tensor], truth, kvHeads, dim)));
    return {
      scheme,
      layer,
      plans,
      kvHeads,
      appended,
      held: { ...stored, key: attendedKeys(stored.key, data, stage) },
      blocks: {
        key: await cache.exportBlocks(sequence, 0, 'key'),
        value: await cache.exportBlocks(sequence, 0, 'value'),
      },
      counts: (await cache.stats()).sequences[0]?.classes ?? [],
      output,
      nmse: {
        key: sums('key', keys.exact, keyHeadDim),
        value: sums('value', layer.exact.value, valueHeadDim),
        output: nmseOf(errorSum(output, exact.output)),
        heads: outputErrors(output, exact, data),
      },
      backend: backend.id,
      milliseconds: { pack, attend },
    };
  });
}

/** The same work on another backend: its times, and whether it wrote the same bytes. */
export async function measureOn(
  backend: Backend,
  run: SchemeRun,
  data: Dataset,
): Promise<Milliseconds & { readonly sameBytes: boolean }> {
  const { plans, appended, layer } = run;
  return withCache(plans.layer, data, appended, backend, async (cache, sequence, pack) => {
    let sameBytes = true;
    for (const tensor of ['key', 'value'] as const) {
      const blocks = await cache.exportBlocks(sequence, 0, tensor);
      sameBytes &&=
        blocks.length === run.blocks[tensor].length &&
        blocks.every((block, i) => equal(block.bytes, run.blocks[tensor][i]?.bytes));
    }
    return { pack, attend: await timeOfQuery(cache, sequence, layer, data), sameBytes };
  });
}

/** Packs twice and gives the second, with its time: the first makes pipelines, or is compiled. */
async function withCache<T>(
  plan: Plan,
  { sizes }: Dataset,
  appended: SchemeRun['appended'],
  backend: Backend,
  use: (cache: Cache, sequence: Sequence, milliseconds: number) => Promise<T>,
): Promise<T> {
  const { tokens, kvHeads, keyHeadDim, valueHeadDim } = sizes;
  const input = {
    key: f16Tensor(appended.key, [tokens, kvHeads, keyHeadDim]),
    value: f16Tensor(appended.value, [tokens, kvHeads, valueHeadDim]),
  };
  const cache = await createCache(plan, backend, { capacity: { tokens } });
  try {
    const sequence = cache.createSequence();
    await cache.append([{ sequence, tokens }], [input]);
    cache.reset(sequence);
    await breathe();
    const started = performance.now();
    await cache.append([{ sequence, tokens }], [input]);
    return await use(cache, sequence, performance.now() - started);
  } finally {
    cache.dispose();
  }
}

const TIMED = 3;

/** Milliseconds of the last query, until its output is in the page: the least of some. */
async function timeOfQuery(
  cache: Cache,
  sequence: Sequence,
  layer: LayerTensors,
  { sizes }: Dataset,
): Promise<number> {
  const row = sizes.queryHeads * sizes.keyHeadDim;
  const query = f32Tensor(layer.query.slice(-row), [1, sizes.queryHeads, sizes.keyHeadDim]);
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < TIMED; i++) {
    await breathe();
    const started = performance.now();
    await cache.attend(0, query, [sequence]).read();
    least = Math.min(least, performance.now() - started);
  }
  return least;
}

/** Keys that are held before the rotary embedding, as attention meets them. */
function attendedKeys(stored: Float32Array, { sizes, rotary }: Dataset, stage: Stage) {
  if (stage === 'post-rope') return stored;
  return Float32Array.from(rotateKeys(stored, sizes, requireRotary(rotary).embedding, 0));
}

function outputErrors(output: Float32Array, exact: ExactAttention, { sizes }: Dataset): number[] {
  const { queries, queryHeads, valueHeadDim } = sizes;
  return Array.from({ length: queryHeads }, (_, head) => {
    const rows = Array.from({ length: queries }, (__, query) => {
      const first = (query * queryHeads + head) * valueHeadDim;
      return errorSum(output, exact.output, first, first + valueHeadDim);
    });
    return nmseOf(addSums(rows));
  });
}

function equal(a: Uint8Array, b: Uint8Array | undefined): boolean {
  return b !== undefined && a.length === b.length && a.every((byte, i) => byte === b[i]);
}

/** Lets the page draw and answer. */
function breathe(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}
