/**
 * Threshold profiles as Oaken's artifact stores them: quantiles of each run rounded to f16, averaged in double precision.
 */
import type { OutlierBands } from '@lowbit-kv/core';
import { higherQuantile, lowerQuantile, sortedFinite, thresholdsOf } from '../quantiles.js';

/** Index 0 is the edge of the outer group, 1 of the inner one, 2 the median, which nothing uses. */
export interface ArtifactProfile {
  readonly upper: readonly number[];
  readonly lower: readonly number[];
}

/** Profile of one tensor of one layer; each run holds all its values. Throws NON_FINITE for values outside f16. */
export function profileThresholds(
  runs: readonly Float32Array[],
  shares: OutlierBands['shares'],
): ArtifactProfile {
  const perRun = runs.map((values) => {
    const sorted = sortedFinite(values);
    const { outerLow, outerHigh, innerLow, innerHigh } = thresholdsOf(sorted, shares);
    return {
      upper: [outerHigh, innerHigh, higherQuantile(sorted, 0.5)],
      lower: [outerLow, innerLow, lowerQuantile(sorted, 0.5)],
    };
  });
  const average = (side: 'upper' | 'lower') =>
    [0, 1, 2].map(
      (i) => perRun.reduce((sum, run) => sum + (run[side][i] as number), 0) / runs.length,
    );
  return { upper: average('upper'), lower: average('lower') };
}
