/**
 * Attention in float64 over plain arrays: the ground truth of a comparison. Shares no code with core or a backend.
 */
import {
  dotProducts,
  gatherQueries,
  headOf,
  normalise,
  rowsOf,
  SIDE_BY_SIDE,
  seenBy,
  weightedSums,
} from './attention-rows.js';
import type { CaptureSizes } from './capture-layers.js';

export interface AttentionInputs {
  /** `[tokens, kvHeads, keyHeadDim]`. */
  readonly key: Float32Array;
  /** `[tokens, kvHeads, valueHeadDim]`. */
  readonly value: Float32Array;
  /** `[queries, queryHeads, keyHeadDim]`. */
  readonly query: Float32Array;
}

export interface ExactAttention {
  /** `[queries, queryHeads, valueHeadDim]`. */
  readonly output: Float64Array;
  /** `[queries, queryHeads]`, natural logarithm. */
  readonly logSumExp: Float64Array;
}

/** Each query sees the tokens up to its own. Other heads than `only` stay 0. */
export function exactAttention(
  inputs: AttentionInputs,
  sizes: CaptureSizes,
  only?: number,
): ExactAttention {
  const { queryHeads, kvHeads, keyHeadDim, valueHeadDim, tokens, queries } = sizes;
  const output = new Float64Array(queries * queryHeads * valueHeadDim);
  const logSumExp = new Float64Array(queries * queryHeads);
  // [SIDE_BY_SIDE, tokens], [SIDE_BY_SIDE, dim]; rows past the last stay 0.
  const weights = new Float64Array(SIDE_BY_SIDE * tokens);
  const query = new Float64Array(SIDE_BY_SIDE * keyHeadDim);
  const sums = new Float64Array(SIDE_BY_SIDE * valueHeadDim);
  for (let kvHead = 0; kvHead < kvHeads; kvHead++) {
    const key = headOf(inputs.key, kvHead, kvHeads, keyHeadDim);
    const value = headOf(inputs.value, kvHead, kvHeads, valueHeadDim);
    const rows = rowsOf(kvHead, sizes, only);
    for (let first = 0; first < rows.length; first += SIDE_BY_SIDE) {
      const some = rows.slice(first, first + SIDE_BY_SIDE);
      const visible = seenBy(some.at(-1) as number, sizes);
      gatherQueries(inputs.query, some, sizes, query);
      dotProducts(key, query, weights, 0, visible);
      for (const [i, row] of some.entries()) {
        const logits = weights.subarray(i * tokens, i * tokens + visible);
        logSumExp[row] = normalise(logits, seenBy(row, sizes));
      }
      sums.fill(0);
      weightedSums(value, weights, sums, 0, visible);
      for (const [i, row] of some.entries()) {
        output.set(sums.subarray(i * valueHeadDim, (i + 1) * valueHeadDim), row * valueHeadDim);
      }
    }
  }
  return { output, logSumExp };
}
