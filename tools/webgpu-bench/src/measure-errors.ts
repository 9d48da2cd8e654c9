/**
 * How far attention of a backend is from attention in float64 over the decoded bytes of its own cache, and how far that is
 * from attention over what was put in: the quantization noise.
 */
import type { WebGpuBackend } from '@lowbit-kv/backend-webgpu';
import { createCache, decodeF16, f16Tensor, f32Tensor, type Plan } from '@lowbit-kv/core';
import { referenceAttention } from '@lowbit-kv/core/testing';
import { drawnKeys, drawnQueries, drawnValues } from './drawn-data.js';
import { raggedLengths } from './filled-cache.js';
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

export interface ErrorOptions {
  readonly sequences: number;
  readonly tokens: number;
  readonly queryHeads: number;
}

export async function measureErrors(
  plan: Plan,
  backend: WebGpuBackend,
  data: DataKind,
  { sequences: batch, tokens, queryHeads }: ErrorOptions,
): Promise<Errors> {
  const lengths = raggedLengths(tokens, batch);
  const drawn = lengths.map((length, i) => drawSequence(length, queryHeads, i, data));
  const capacity = { tokens: tokens * batch, sequences: batch };
  const cache = await createCache(plan, backend, { capacity });
  try {
    const sequences = lengths.map(() => cache.createSequence());
    for (const [i, sequence] of sequences.entries()) {
      const { length, key, value } = drawn[i] as Drawn;
      const shape = [length, KV_HEADS, HEAD_DIM];
      const layer = { key: f16Tensor(key, shape), value: f16Tensor(value, shape) };
      await cache.append([{ sequence, tokens: length }], [layer]);
    }
    const queries = new Float32Array(batch * queryHeads * HEAD_DIM);
    for (const [i, { query }] of drawn.entries()) queries.set(query, i * query.length);
    const query = f32Tensor(queries, [batch, queryHeads, HEAD_DIM]);
    const { output } = await cache.attend(0, query, sequences).read();

    const rows: { error: number; noise: number }[] = [];
    for (const [i, sequence] of sequences.entries()) {
      const { length, key, value, query: own } = drawn[i] as Drawn;
      const attention = (keys: ArrayLike<number>, values: ArrayLike<number>) =>
        referenceAttention({
          keys,
          values,
          queries: own,
          tokens: length,
          queryTokens: 1,
          queryHeads,
          kvHeads: KV_HEADS,
          keyDim: HEAD_DIM,
          valueDim: HEAD_DIM,
          scale: plan.layers[0]?.geometry.scale as number,
        }).output;
      const held = await cache.materialize(sequence, 0);
      const decoded = attention(held.key.data, held.value.data);
      const original = attention(decodeF16(key), decodeF16(value));
      for (let head = 0; head < queryHeads; head++) {
        const from = head * HEAD_DIM;
        const part = (values: Float32Array | Float64Array, first = from) =>
          values.subarray(first, first + HEAD_DIM);
        const result = part(output.data as Float32Array, i * queryHeads * HEAD_DIM + from);
        rows.push({
          error: relative(result, part(decoded)),
          noise: relative(part(decoded), part(original)),
        });
      }
    }
    const isQuantized = plan.layers.some(({ key, value }) => key.layout ?? value.layout);
    return {
      data,
      error: Math.max(...rows.map(({ error }) => error)),
      noise: rows.reduce((sum, { noise }) => sum + noise, 0) / rows.length,
      shareOfNoise: isQuantized ? Math.max(...rows.map(({ error, noise }) => error / noise)) : null,
    };
  } finally {
    cache.dispose();
  }
}

interface Drawn {
  readonly length: number;
  readonly key: Uint16Array;
  readonly value: Uint16Array;
  /** `[queryHeads, headDim]`. */
  readonly query: Float32Array;
}

function drawSequence(length: number, queryHeads: number, i: number, data: DataKind): Drawn {
  const shape = [length, KV_HEADS, HEAD_DIM];
  const drawn = {
    length,
    key: drawnKeys(shape, 101 + i, 'f16'),
    value: drawnValues(shape, 201 + i, 'f16'),
    query: drawnQueries([queryHeads, HEAD_DIM], 301 + i),
  };
  if (data === 'sinks') dominateBySinks(drawn, queryHeads);
  return drawn;
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
