/**
 * The middle and the spread of measured times.
 */
import { checkInteger } from './check.js';

export interface Spread {
  readonly samples: number;
  readonly minimum: number;
  /** Quartiles lie between neighbours in proportion, as numpy's do. */
  readonly lowerQuartile: number;
  readonly median: number;
  readonly upperQuartile: number;
  /** Median of the distances from the median. */
  readonly deviation: number;
}

/** Of at least one value; NaN among them makes every figure NaN. */
export function spreadOf(values: readonly number[]): Spread {
  checkInteger('number of samples', values.length, 1);
  const sorted = values.some(Number.isNaN)
    ? values.map(() => Number.NaN)
    : values.toSorted((a, b) => a - b);
  const median = quantileOf(sorted, 0.5);
  const distances = sorted.map((value) => Math.abs(value - median)).sort((a, b) => a - b);
  return {
    samples: sorted.length,
    minimum: sorted[0] as number,
    lowerQuartile: quantileOf(sorted, 0.25),
    median,
    upperQuartile: quantileOf(sorted, 0.75),
    deviation: quantileOf(distances, 0.5),
  };
}

function quantileOf(sorted: readonly number[], share: number): number {
  const place = share * (sorted.length - 1);
  const below = sorted[Math.floor(place)] as number;
  const above = sorted[Math.ceil(place)] as number;
  return below + (place - Math.floor(place)) * (above - below);
}
