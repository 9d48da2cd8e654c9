/**
 * One sequence on the ONNX backend: append everything, then one query at the end.
 */
import {
  type CacheOptions,
  createCache,
  createPlan,
  encodeF16,
  f16Tensor,
  f32Tensor,
  type Geometry,
  type HostTensor,
  type Scheme,
} from '@lowbit-kv/core';
import { calibrationFor } from './schemes.js';
import { backend } from './twin.js';

export interface OneSequence extends CacheOptions {
  readonly scheme: Scheme;
  readonly geometry: Geometry;
  /** f32 values of f16 numbers, `[tokens, kvHeads, dim]`, in the chunks they are appended in. */
  readonly chunks: readonly { readonly key: Float32Array; readonly value: Float32Array }[];
  /** `[queryHeads, keyHeadDim]`. */
  readonly query: Float32Array;
}

export interface OneResult {
  readonly output: Float32Array;
  readonly logSumExp: Float32Array;
  readonly packed: { readonly key: number; readonly value: number };
  /** Decoded tokens of layer 0. */
  readonly decoded: { readonly key: HostTensor; readonly value: HostTensor };
}

export async function attendOnce(one: OneSequence): Promise<OneResult> {
  const { scheme, geometry, chunks, query, ...options } = one;
  const { kvHeads, keyHeadDim, valueHeadDim, queryHeads } = geometry;
  const calibration = calibrationFor(scheme, geometry);
  const plan = createPlan(scheme, geometry, calibration === undefined ? {} : { calibration });
  const lengths = chunks.map(({ key }) => key.length / (kvHeads * keyHeadDim));
  const total = lengths.reduce((sum, n) => sum + n, 0);
  const cache = await createCache(plan, backend, {
    capacity: { tokens: total, sequences: 1 },
    ...options,
  });
  try {
    const sequence = cache.createSequence();
    for (const [i, { key, value }] of chunks.entries()) {
      const tokens = lengths[i] as number;
      await cache.append(
        [{ sequence, tokens }],
        [
          {
            key: f16Tensor(encodeF16(key), [tokens, kvHeads, keyHeadDim]),
            value: f16Tensor(encodeF16(value), [tokens, kvHeads, valueHeadDim]),
          },
        ],
      );
    }
    const result = await cache
      .attend(0, f32Tensor(query, [1, queryHeads, keyHeadDim]), [sequence], { logSumExp: true })
      .read();
    const blocks = async (tensor: 'key' | 'value') =>
      (await cache.exportBlocks(sequence, 0, tensor)).reduce((n, b) => n + b.validTokens, 0);
    const { key, value } = await cache.materialize(sequence, 0);
    return {
      output: result.output.data as Float32Array,
      logSumExp: result.logSumExp?.data as Float32Array,
      packed: { key: await blocks('key'), value: await blocks('value') },
      decoded: { key, value },
    };
  } finally {
    cache.dispose();
  }
}
