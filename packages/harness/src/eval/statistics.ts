/**
 * Means with two standard errors, and quantiles, of values that come in windows of equal length. NaN anywhere in the values
 * makes every result NaN.
 */

/** Values of each window, as many in each. */
export type WindowValues = readonly Float64Array[];

export interface Estimate {
  readonly mean: number;
  /** Of the mean, with all values taken as independent; too small where neighbours agree. NaN for one value. */
  readonly standardError: number;
  /** Of the mean, with windows taken as independent, whatever goes on inside them. NaN for one window. */
  readonly windowStandardError: number;
}

/** Standard errors are from sample variances. */
export function estimate(windows: WindowValues): Estimate {
  const values = joined(windows);
  const mean = meanOf(values);
  return {
    mean,
    standardError: standardErrorOf(values, mean),
    windowStandardError: standardErrorOf(Float64Array.from(windows, meanOf), mean),
  };
}

export function rootMeanSquare(windows: WindowValues): number {
  const values = joined(windows);
  return Math.sqrt(values.reduce((sum, x) => sum + x * x, 0) / values.length);
}

/** Nearest rank: the smallest value that at least `share` of all values do not exceed. */
export function quantile(windows: WindowValues, share: number): number {
  const sorted = joined(windows).sort();
  // NaN sorts last and would be left out of every quantile but the last.
  if (Number.isNaN(sorted.at(-1))) return Number.NaN;
  return sorted[Math.max(Math.ceil(share * sorted.length) - 1, 0)] ?? Number.NaN;
}

export function meanOf(values: Float64Array): number {
  return values.reduce((sum, x) => sum + x, 0) / values.length;
}

function standardErrorOf(values: Float64Array, mean: number): number {
  const squares = values.reduce((sum, x) => sum + (x - mean) ** 2, 0);
  return Math.sqrt(squares / (values.length - 1) / values.length);
}

/** One window after the other. */
function joined(windows: WindowValues): Float64Array {
  const values = new Float64Array(windows.reduce((sum, { length }) => sum + length, 0));
  let place = 0;
  for (const window of windows) {
    values.set(window, place);
    place += window.length;
  }
  return values;
}
