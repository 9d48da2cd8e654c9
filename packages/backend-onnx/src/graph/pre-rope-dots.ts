/**
 * Dot products with keys that are cached before the rotary embedding. Transforms do not commute with it, so keys are
 * restored and turned to their positions before they meet the (turned) queries.
 */
import type { LayerPlan, RotaryEmbedding } from '@lowbit-kv/core';
import { isPacked } from '../packed-plan.js';
import type { Value } from './builder.js';
import { dequantizePages } from './dequantize.js';
import type { Operations } from './operations.js';
import { queryMatrix } from './query-matrix.js';
import { statisticsInput, tokenInput, zeroEntry } from './streams.js';
import { invertSums, transformSteps } from './transforms.js';

/** f64 `[kvHeads, rows, columns]`; `places` and `positions` are int64 `[columns]`. */
export function preRopeDots(
  o: Operations,
  layer: LayerPlan,
  rotary: RotaryEmbedding,
  query: Value,
  places: Value,
  positions: Value,
): Value {
  const { geometry } = layer;
  const keys = o.gather(restoredKeys(o, layer), places, 1);
  const turned = turn(o, keys, positions, rotary, geometry.kvHeads, geometry.keyHeadDim);
  const products = o.matrixProduct(turned, queryMatrix(o, query, geometry).columns);
  return o.transpose(products, [0, 2, 1]);
}

/** f64 `[kvHeads, 1 + tokens, headDim]`: the zero entry, the f16 keys, then the packed ones without their transforms. */
function restoredKeys(o: Operations, { key }: LayerPlan): Value {
  const tokens = o.transpose(o.cast(tokenInput(o, key), 'float32'), [1, 0, 2]);
  const zeros = zeroEntry(o, key, 'tokens,channels');
  const loose = o.cast(o.concat([zeros, tokens], 1), 'float64');
  if (!isPacked(key)) return loose;
  // The zero entry is for products of rotations, which must not be empty.
  const packed = o.concat([dequantizePages(o, key, 'tokens,channels'), zeros], 1);
  const rows = o.transpose(o.cast(packed, 'float64'), [1, 0, 2]);
  const steps = transformSteps(o, key, statisticsInput(o, key));
  const restored = invertSums(steps, rows, o.scalar('float64', 1));
  return o.concat([loose, o.transpose(restored, [1, 0, 2])], 1);
}

/** Pair i turns by the angle position * frequency i. */
function turn(
  o: Operations,
  keys: Value,
  positions: Value,
  { pairs, frequencies }: RotaryEmbedding,
  heads: number,
  headDim: number,
): Value {
  const count = frequencies.length;
  const column = o.reshape(o.cast(positions, 'float64'), [-1, 1]);
  const angles = o.multiply(column, o.graph.constant('float64', frequencies));
  const sine = o.sine(angles);
  const cosine = cosineOf(o, angles);
  const adjacent = pairs === 'adjacent';
  const first = adjacent ? o.slice(keys, 2, 0, 2 * count, 2) : o.slice(keys, 2, 0, count);
  const second = adjacent ? o.slice(keys, 2, 1, 2 * count, 2) : o.slice(keys, 2, count, 2 * count);
  const turned = [
    o.subtract(o.multiply(first, cosine), o.multiply(second, sine)),
    o.add(o.multiply(first, sine), o.multiply(second, cosine)),
  ];
  const beside = turned.map((half) => o.reshape(half, [heads, -1, count, 1]));
  const together = adjacent ? [o.reshape(o.concat(beside, 3), [heads, -1, 2 * count])] : turned;
  const rest = 2 * count < headDim ? [o.slice(keys, 2, 2 * count, headDim)] : [];
  return o.concat([...together, ...rest], 2);
}

/** ONNX Runtime 1.20 has no cosine in f64. */
function cosineOf(o: Operations, angles: Value): Value {
  const half = o.sine(o.multiply(angles, 0.5));
  return o.subtract(o.scalar('float64', 1), o.multiply(o.multiply(half, half), 2));
}
