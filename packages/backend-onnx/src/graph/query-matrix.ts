/**
 * Queries as matrices, one per kv head.
 */
import type { LayerGeometry } from '@lowbit-kv/core';
import type { Value } from './builder.js';
import type { Operations } from './operations.js';

/**
 * The queries twice, `[kvHeads, rows, headDim]` and `[kvHeads, headDim, rows]`: a transposition in front of a product is
 * fused in ONNX Runtime 1.20 into an operator that has no f64 kernel.
 */
export interface QueryMatrix {
  readonly rows: Value;
  readonly columns: Value;
}

/** From `[rows, kvHeads, headDim]`; a row is a query and one of the query heads that share a kv head. */
export function queryMatrix(
  o: Operations,
  query: Value,
  { queryHeads, kvHeads, keyHeadDim }: LayerGeometry,
): QueryMatrix {
  const split = o.reshape(query, [-1, queryHeads / kvHeads, kvHeads, keyHeadDim]);
  return {
    rows: o.reshape(o.transpose(split, [2, 0, 1, 3]), [kvHeads, -1, keyHeadDim]),
    columns: o.reshape(o.transpose(split, [2, 3, 0, 1]), [kvHeads, keyHeadDim, -1]),
  };
}
