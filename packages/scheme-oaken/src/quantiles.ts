/**
 * Band edges of one tensor of one run: quantiles of all its values, each rounded to f16.
 */
import { LowbitKvError, type OutlierBands, roundToF16 } from '@lowbit-kv/core';
import { rising } from './rising.js';

export const EDGES = ['outerLow', 'outerHigh', 'innerLow', 'innerHigh'] as const;
export type Thresholds = Record<(typeof EDGES)[number], number>;

/** Upper edges are `higher` quantiles, lower ones `lower`. */
export function thresholdsOf(sorted: Float32Array, shares: OutlierBands['shares']): Thresholds {
  const outer = shares.outer / 2;
  const inner = (shares.outer + shares.middle) / 2;
  return {
    outerLow: lowerQuantile(sorted, outer),
    outerHigh: higherQuantile(sorted, 1 - outer),
    innerLow: lowerQuantile(sorted, inner),
    innerHigh: higherQuantile(sorted, 1 - inner),
  };
}

/** Rising. Throws NON_FINITE for values that are no finite f16. */
export function sortedFinite(
  values: Float32Array,
  where: { readonly tensor?: string; readonly layer?: number } = {},
): Float32Array {
  const sorted = rising(values);
  // Infinities and NaN are at the ends.
  const [first, last] = [sorted[0] as number, sorted[sorted.length - 1] as number];
  if (Math.abs(roundToF16(first)) <= 65504 && Math.abs(roundToF16(last)) <= 65504) return sorted;
  throw new LowbitKvError('NON_FINITE', {
    message: 'a calibration sample holds a value that is not a finite f16',
    value: Number.isFinite(first) ? last : first,
    valid: 'finite numbers within -65504 and 65504',
    next: 'Leave this calibration run out, or find out why the model overflows.',
    where,
  });
}

export function lowerQuantile(sorted: Float32Array, fraction: number): number {
  return roundToF16(sorted[Math.floor((sorted.length - 1) * withoutDust(fraction))] as number);
}

export function higherQuantile(sorted: Float32Array, fraction: number): number {
  return roundToF16(sorted[Math.ceil((sorted.length - 1) * withoutDust(fraction))] as number);
}

/** The double nearest to a decimal fraction: 1 - 0.94 / 2 must be 0.53, or a rank may move by one. */
function withoutDust(fraction: number): number {
  return Math.round(fraction * 1e12) / 1e12;
}
