/** Means with standard errors, and quantiles. NaN anywhere in the values makes every result NaN. */

export interface Estimate {
  readonly mean: number;
  /** Of the mean; NaN for a single value. */
  readonly standardError: number;
}

/** Mean and its standard error, from the sample variance of values taken as independent. */
export function estimate(values: ArrayLike<number>): Estimate {
  const mean = sumOf(values, (x) => x) / values.length;
  const squares = sumOf(values, (x) => (x - mean) ** 2);
  return { mean, standardError: Math.sqrt(squares / (values.length - 1) / values.length) };
}

export function rootMeanSquare(values: ArrayLike<number>): number {
  return Math.sqrt(sumOf(values, (x) => x * x) / values.length);
}

/** Nearest rank: the smallest value that at least `share` of all values do not exceed. */
export function quantile(values: ArrayLike<number>, share: number): number {
  const sorted = Float64Array.from(values).sort();
  // NaN sorts last and would be left out of every quantile but the last.
  if (Number.isNaN(sorted.at(-1))) return Number.NaN;
  return sorted[Math.max(Math.ceil(share * sorted.length) - 1, 0)] ?? Number.NaN;
}

function sumOf(values: ArrayLike<number>, term: (value: number) => number): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += term(values[i] as number);
  return sum;
}
