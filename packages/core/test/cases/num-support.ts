/**
 * Plans and caches that the number cases share.
 */
import {
  type Cache,
  createCache,
  createPlan,
  f16Tensor,
  f32Tensor,
  type Geometry,
  referenceBackend,
  type Scheme,
  type Sequence,
  type TensorScheme,
} from '../../src/index.js';

/** A scheme of two tensor schemes, packed as soon as a flush is full. */
export function schemeOf(key: TensorScheme, value: TensorScheme): Scheme {
  return {
    specVersion: 1,
    id: 'number-case',
    title: 'Number case',
    sinks: 0,
    packing: 'before-attention',
    key,
    value,
    calibration: { kind: 'none' },
  };
}

export async function cacheOf(
  key: TensorScheme,
  value: TensorScheme,
  geometry: Geometry,
  options: { tokens: number; nonFinite?: 'error' | 'mask' },
): Promise<Cache> {
  const { tokens, ...rest } = options;
  return createCache(createPlan(schemeOf(key, value), geometry), referenceBackend(), {
    capacity: { tokens: tokens + 64 },
    ...rest,
  });
}

/** One sequence with one layer of f16 bits `[tokens, heads, dim]`. */
export async function filled(
  cache: Cache,
  tokens: number,
  key: Uint16Array,
  value: Uint16Array,
): Promise<Sequence> {
  const sequence = cache.createSequence();
  const { kvHeads } = cache.plan.layers[0]!.geometry;
  const tensor = (bits: Uint16Array) =>
    f16Tensor(bits, [tokens, kvHeads, bits.length / (tokens * kvHeads)]);
  await cache.append([{ sequence, tokens }], [{ key: tensor(key), value: tensor(value) }]);
  return sequence;
}

/** Attention output of one query token, f32 `[queryHeads, valueHeadDim]`. */
export async function attended(
  cache: Cache,
  sequence: Sequence,
  query: Float32Array,
): Promise<Float32Array> {
  const { queryHeads } = cache.plan.layers[0]!.geometry;
  const tensor = f32Tensor(query, [1, queryHeads, query.length / queryHeads]);
  const { output } = await cache.attend(0, tensor, [sequence]).read();
  return output.data as Float32Array;
}
