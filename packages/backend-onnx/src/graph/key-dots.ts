/**
 * Dot products of queries with cached keys: plain queries meet f16 keys, queries with the transforms folded in meet the
 * packed ones.
 */
import { type LayerPlan, transformsOf } from '@lowbit-kv/core';
import { isPacked } from '../packed-plan.js';
import type { Value } from './builder.js';
import { dequantizePages, type Order } from './dequantize.js';
import type { Operations } from './operations.js';
import { preRopeDots } from './pre-rope-dots.js';
import { type QueryMatrix, queryMatrix } from './query-matrix.js';
import { statisticsInput, tokenInput, zeroEntry } from './streams.js';
import { foldQuery, transformSteps } from './transforms.js';

/** The columns of attention, a zero entry first: where each is in the stream of keys, and its position, both int64. */
export interface KeyColumns {
  readonly places: Value;
  readonly positions: Value;
}

/** f64 `[kvHeads, rows, 1 + columns]` of f64 queries `[rows, kvHeads, headDim]`. */
export function keyDots(
  o: Operations,
  layer: LayerPlan,
  query: Value,
  { places, positions }: KeyColumns,
): Value {
  const { rotary } = layer.geometry;
  if (rotary !== null) return preRopeDots(o, layer, rotary, query, places, positions);
  return o.gather(streamProducts(o, layer, query), places, 2);
}

/** f64 `[kvHeads, rows, 1 + tokens]` with the zero entry, the f16 keys, then the packed ones. */
function streamProducts(o: Operations, { key, geometry }: LayerPlan, query: Value): Value {
  const plainQuery = queryMatrix(o, query, geometry);
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
  const products = dotProducts(o, queryMatrix(o, folded.query, geometry), keys, order);
  const packed =
    folded.added === null ? products : o.add(products, o.transpose(folded.added, [1, 0, 2]));
  return o.concat([plain, packed], 2);
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
