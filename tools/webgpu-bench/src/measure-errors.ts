/**
 * How far attention of a backend is from attention in float64 over the decoded bytes of its own cache, and how far that is
 * from attention over what was put in: the quantization noise.
 */
import {
  type Backend,
  createCache,
  decodeF16,
  f16Tensor,
  f32Tensor,
  type Plan,
} from '@lowbit-kv/core';
import { referenceAttention } from '@lowbit-kv/core/testing';
import { raggedLengths } from '@lowbit-kv/harness';
import { drawnKeys, drawnQueries, drawnValues } from './drawn-data.js';
import { HEAD_DIM, KV_HEADS } from './plans.js';
import { dominateBySinks } from './sink-data.js';

export const DATA_KINDS = ['normal', 'sinks'] as const;
export type DataKind = (typeof DATA_KINDS)[number];

/** Relative L2 over the channels of an output, of each sequence and query head. */
export interface Errors {
  readonly data: DataKind;
  /** The worst, against float64 over the decoded bytes. */
  readonly error: number;
  /** The mean noise: decoded against original. */
  readonly noise: number;
  /** The worst error as a share of the noise of the same head; null where nothing is quantized. */
  readonly shareOfNoise: number | null;
}

/** Keys, values and one query of some sequences. */
export interface ErrorCase {
  readonly data: DataKind;
  readonly queryHeads: number;
  readonly sequences: readonly CaseSequence[];
}

interface CaseSequence {
  readonly length: number;
  /** f16 `[length, kvHeads, headDim]`. */
  readonly key: Uint16Array;
  readonly value: Uint16Array;
  /** `[queryHeads, headDim]`. */
  readonly query: Float32Array;
  /** Attention over them as they are. */
  readonly original: Float64Array;
}

export function createErrorCase(
  data: DataKind,
  sequences: number,
  tokens: number,
  queryHeads: number,
): ErrorCase {
  const drawn = raggedLengths(tokens, sequences).map((length, i) => {
    const shape = [length, KV_HEADS, HEAD_DIM];
    const key = drawnKeys(shape, 101 + i, 'f16');
    const value = drawnValues(shape, 201 + i, 'f16');
    const query = drawnQueries([queryHeads, HEAD_DIM], 301 + i);
    if (data === 'sinks') dominateBySinks({ key, value, query }, queryHeads);
    const original = attention(decodeF16(key), decodeF16(value), query);
    return { length, key, value, query, original };
  });
  return { data, queryHeads, sequences: drawn };
}

export async function measureErrors(
  plan: Plan,
  backend: Backend,
  { data, queryHeads, sequences: drawn }: ErrorCase,
): Promise<Errors> {
  const tokens = drawn.reduce((sum, { length }) => sum + length, 0);
  const capacity = { tokens, sequences: drawn.length };
  const cache = await createCache(plan, backend, { capacity });
  try {
    const sequences = drawn.map(() => cache.createSequence());
    for (const [i, sequence] of sequences.entries()) {
      const { length, key, value } = drawn[i] as CaseSequence;
      const shape = [length, KV_HEADS, HEAD_DIM];
      const layer = { key: f16Tensor(key, shape), value: f16Tensor(value, shape) };
      await cache.append([{ sequence, tokens: length }], [layer]);
    }
    const elements = queryHeads * HEAD_DIM;
    const queries = new Float32Array(drawn.length * elements);
    for (const [i, { query }] of drawn.entries()) queries.set(query, i * elements);
    const query = f32Tensor(queries, [drawn.length, queryHeads, HEAD_DIM]);
    const { output } = await cache.attend(0, query, sequences).read();

    const heads: { error: number; noise: number }[] = [];
    for (const [i, sequence] of sequences.entries()) {
      const { query: own, original } = drawn[i] as CaseSequence;
      const { key, value } = await cache.materialize(sequence, 0);
      const decoded = attention(key.data, value.data, own);
      const result = output.data.subarray(i * elements, (i + 1) * elements);
      for (let first = 0; first < elements; first += HEAD_DIM) {
        const [actual, expected, unquantized] = [result, decoded, original].map((rows) =>
          rows.subarray(first, first + HEAD_DIM),
        ) as [Float32Array, Float64Array, Float64Array];
        heads.push({ error: relative(actual, expected), noise: relative(expected, unquantized) });
      }
    }
    const isQuantized = plan.layers.some(({ key, value }) => key.layout ?? value.layout);
    return {
      data,
      error: Math.max(...heads.map(({ error }) => error)),
      noise: heads.reduce((sum, { noise }) => sum + noise, 0) / heads.length,
      shareOfNoise: isQuantized
        ? Math.max(...heads.map(({ error, noise }) => error / noise))
        : null,
    };
  } finally {
    cache.dispose();
  }
}

/** One query over all tokens, in float64: `[queryHeads, headDim]`. */
function attention(
  keys: ArrayLike<number>,
  values: ArrayLike<number>,
  queries: Float32Array,
): Float64Array {
  return referenceAttention({
    keys,
    values,
    queries,
    tokens: keys.length / (KV_HEADS * HEAD_DIM),
    queryTokens: 1,
    queryHeads: queries.length / HEAD_DIM,
    kvHeads: KV_HEADS,
    keyDim: HEAD_DIM,
    valueDim: HEAD_DIM,
    scale: 1 / Math.sqrt(HEAD_DIM),
  }).output;
}

function relative(actual: ArrayLike<number>, expected: ArrayLike<number>): number {
  let difference = 0;
  let total = 0;
  for (let i = 0; i < expected.length; i++) {
    difference += ((actual[i] as number) - (expected[i] as number)) ** 2;
    total += (expected[i] as number) ** 2;
  }
  return Math.sqrt(difference / total);
}
