/**
 * The f32 sum of fixed shape: neighbours are added level by level.
 */
import type { Value } from './builder.js';
import type { Operations } from './operations.js';

/**
 * Sums `count` terms along one axis of a value of `rank` axes, which stays with length 1. Zeros fill the terms up to a
 * power of two: a term without a neighbour then moves up unchanged.
 */
export function pairwiseSum(
  o: Operations,
  terms: Value,
  { rank, axis, count }: { readonly rank: number; readonly axis: number; readonly count: number },
): Value {
  let left = 2 ** Math.ceil(Math.log2(count));
  let sums = o.padEnd(terms, rank, axis, left - count);
  for (; left > 1; left /= 2) {
    sums = o.add(o.slice(sums, axis, 0, left, 2), o.slice(sums, axis, 1, left, 2));
  }
  return sums;
}
