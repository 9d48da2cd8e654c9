/**
 * Dot products of queries with cached keys: plain queries meet f16 keys, queries with the transforms folded in meet the
 * packed ones.
 */
import type { LayerPlan } from '@lowbit-kv/core';
import { isPacked, transformsOf } from '../packed-plan.js';
import type { Value } from './builder.js';
import { dequantizePages, type Order } from './dequantize.js';
import type { Operations } from './operations.js';
import { statisticsInput, tokenInput, zeroEntry } from './streams.js';
import { foldQuery, transformSteps } from './transforms.js';

/**
 * f64 `[kvHeads, rows, 1 + tokens]` with the zero entry, the f16 keys, then the packed ones, of f64 queries `[rows,
 * kvHeads, headDim]` whose rows are `group` query heads after another.
 */
export function keyProducts(
  o: Operations,
  { key, geometry }: LayerPlan,
  query: Value,
  group: number,
): Value {
  const plainQuery = queryMatrix(o, query, geometry.kvHeads, group, geometry.keyHeadDim);
  const tokens = o.transpose(o.cast(tokenInput(o, key), 'float32'), [1, 0, 2]);
  const loose = [zeroEntry(o, key, 'tokens,channels'), tokens];
  const plain = dotProducts(o, plainQuery, loose, 'tokens,channels');
  if (!isPacked(key)) return plain;
  // Keys stay in the order they come in: moving the products afterwards costs less.
  const order = key.layout.codes.rows === 'channels' ? 'channels,tokens' : 'tokens,channels';
  const keys = [dequantizePages(o, key, order), zeroEntry(o, key, order)];
  if (transformsOf(key).length === 0)
    return o.concat([plain, dotProducts(o, plainQuery, keys, order)], 2);
  const folded = foldQuery(o, transformSteps(o, key, statisticsInput(o, key)), query);
  const matrix = queryMatrix(o, folded.query, geometry.kvHeads, group, geometry.keyHeadDim);
  const products = dotProducts(o, matrix, keys, order);
  const packed =
    folded.added === null ? products : o.add(products, o.transpose(folded.added, [1, 0, 2]));
  return o.concat([plain, packed], 2);
}

/**
 * The queries twice, `[kvHeads, rows, headDim]` and `[kvHeads, headDim, rows]`: a transposition in front of a product is
 * fused in ONNX Runtime 1.20 into an operator that has no f64 kernel.
 */
interface QueryMatrix {
  readonly rows: Value;
  readonly columns: Value;
}

function queryMatrix(
  o: Operations,
  query: Value,
  heads: number,
  group: number,
  headDim: number,
): QueryMatrix {
  const split = o.reshape(query, [-1, group, heads, headDim]);
  return {
    rows: o.reshape(o.transpose(split, [2, 0, 1, 3]), [heads, -1, headDim]),
    columns: o.reshape(o.transpose(split, [2, 3, 0, 1]), [heads, headDim, -1]),
  };
}

/** f64 `[kvHeads, rows, tokens]`. */
function dotProducts(
  o: Operations,
  query: QueryMatrix,
  keys: readonly Value[],
  order: Order,
): Value {
  if (order === 'channels,tokens')
    return o.matrixProduct(query.rows, o.cast(o.concat(keys, 2), 'float64'));
  const products = o.matrixProduct(o.cast(o.concat(keys, 1), 'float64'), query.columns);
  return o.transpose(products, [0, 2, 1]);
}
