/**
 * One row of logits: its softmax and its distance from the row of the baseline, in float64.
 *
 * A logit of -Infinity is a probability of 0 and no fault. NaN, +Infinity and rows of nothing but -Infinity make every sum
 * NaN, which is how they are found.
 */
import { expOfNegative, LEAST_EXPONENT } from './exponential.js';

/** `d` is a logit minus the largest of the row. */
export interface RowSums {
  readonly largest: number;
  /** Place of the first largest logit. */
  readonly top: number;
  /** Sum of e^d. */
  readonly total: number;
  /** Sum of weight times d; terms of weight 0 count 0. */
  readonly weighted: number;
}

export interface BaselineSums extends RowSums {
  /** Sum of the weights. */
  readonly weightSum: number;
}

/** The sums of a baseline's row. Fills `weights` with e^d rounded to f32: a distribution times a factor. */
export function baselineSums(logits: Float32Array, weights: Float32Array): BaselineSums {
  const { largest, top } = largestOf(logits);
  let total = 0;
  let weighted = 0;
  let weightSum = 0;
  for (let i = 0; i < logits.length; i++) {
    const d = (logits[i] as number) - largest;
    const power = powerOf(d);
    const weight = Math.fround(power);
    weights[i] = weight;
    total += power;
    if (weight !== 0) weighted += weight * d;
    weightSum += weight;
  }
  return { largest, top, total, weighted, weightSum };
}

/** The sums of another row with the baseline's weights. Equal logits give equal sums, bit for bit. */
export function rowSums(logits: Float32Array, weights: Float32Array): RowSums {
  const { largest, top } = largestOf(logits);
  let total = 0;
  let weighted = 0;
  for (let i = 0; i < logits.length; i++) {
    const d = (logits[i] as number) - largest;
    const weight = weights[i] as number;
    total += powerOf(d);
    if (weight !== 0) weighted += weight * d;
  }
  return { largest, top, total, weighted };
}

/** e^d; in place of what is smaller 3e-308, which vanishes beside the 1 of the largest logit. NaN stays NaN. */
function powerOf(d: number): number {
  return expOfNegative(Math.max(d, LEAST_EXPONENT));
}

/** -ln of the probability of the token whose logit is `logit`. NaN for a row that is not finite. */
export function negativeLogOf(
  { total, largest }: Pick<RowSums, 'total' | 'largest'>,
  logit: number,
): number {
  return Math.log(total) - (logit - largest);
}

/** -ln of the probability of one entry of a row. NaN for a row that is not finite. */
export function negativeLogProbability(logits: Float32Array, entry: number): number {
  const { largest } = largestOf(logits);
  const total = logits.reduce((sum, logit) => sum + Math.exp(logit - largest), 0);
  return negativeLogOf({ total, largest }, logits[entry] as number);
}

/**
 * KL(baseline || other) in nats, from the sums of both rows with the baseline's weights. The weights are f32, which makes an
 * error of at most 2^-23 times the mean of |ln p - ln q| under the baseline; beside it stands rounding of about 1e-12. 0 for
 * equal sums, infinite where `other` gives no probability to what the baseline expects.
 */
export function divergence(baseline: BaselineSums, other: RowSums): number {
  return (
    (baseline.weighted - other.weighted) / baseline.weightSum -
    Math.log(baseline.total) +
    Math.log(other.total)
  );
}

/** Largest |a - b|; NaN when one is NaN, 0 for equal infinities. */
export function largestDifference(a: Float32Array, b: Float32Array): number {
  let largest = 0;
  for (let i = 0; i < a.length; i++) {
    const difference = a[i] === b[i] ? 0 : Math.abs((a[i] as number) - (b[i] as number));
    if (!(difference <= largest)) largest = difference;
    if (Number.isNaN(largest)) return largest;
  }
  return largest;
}

/** The largest logit, and where it first stands. NaN is passed over. */
function largestOf(logits: Float32Array) {
  let largest = Number.NEGATIVE_INFINITY;
  let top = 0;
  for (let i = 0; i < logits.length; i++) {
    const logit = logits[i] as number;
    if (logit > largest) {
      largest = logit;
      top = i;
    }
  }
  return { largest, top };
}
