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

/** Fills `weights` with e^d rounded to f32, and gives their sum: a distribution times a factor. */
export function weightsOf(logits: Float32Array, weights: Float32Array): number {
  const { largest, fast } = rangeOf(logits);
  return fast ? fastWeights(logits, weights, largest) : slowWeights(logits, weights, largest);
}

/** All sums of a row in two passes. */
export function rowSums(logits: Float32Array, weights: Float32Array): RowSums {
  const { largest, top, fast } = rangeOf(logits);
  const sums = fast ? fastSums(logits, weights, largest) : slowSums(logits, weights, largest);
  return { largest, top, ...sums };
}

// Loops of their own for rows with and without logits far below the largest: a branch inside takes longer than e^d.

function fastWeights(logits: Float32Array, weights: Float32Array, largest: number): number {
  let sum = 0;
  for (let i = 0; i < logits.length; i++) {
    const weight = Math.fround(expOfNegative((logits[i] as number) - largest));
    weights[i] = weight;
    sum += weight;
  }
  return sum;
}

function slowWeights(logits: Float32Array, weights: Float32Array, largest: number): number {
  let sum = 0;
  for (let i = 0; i < logits.length; i++) {
    const weight = Math.fround(Math.exp((logits[i] as number) - largest));
    weights[i] = weight;
    sum += weight;
  }
  return sum;
}

function fastSums(logits: Float32Array, weights: Float32Array, largest: number) {
  let total = 0;
  let weighted = 0;
  for (let i = 0; i < logits.length; i++) {
    const d = (logits[i] as number) - largest;
    total += expOfNegative(d);
    weighted += (weights[i] as number) * d;
  }
  return { total, weighted };
}

function slowSums(logits: Float32Array, weights: Float32Array, largest: number) {
  let total = 0;
  let weighted = 0;
  for (let i = 0; i < logits.length; i++) {
    const d = (logits[i] as number) - largest;
    total += Math.exp(d);
    if (weights[i] !== 0) weighted += (weights[i] as number) * d;
  }
  return { total, weighted };
}

/** -ln of the probability of one entry. NaN for a row that is not finite. */
export function negativeLogProbability(logits: Float32Array, entry: number): number {
  const { largest } = rangeOf(logits);
  const total = logits.reduce((sum, logit) => sum + Math.exp(logit - largest), 0);
  return Math.log(total) - ((logits[entry] as number) - largest);
}

/**
 * KL(baseline || other) in nats, from the sums of both rows with the baseline's weights and their sum. The weights are
 * f32, which makes an error of at most 2^-23 times the mean of |ln p - ln q| under the baseline.
 */
export function divergence(baseline: RowSums, other: RowSums, weightSum: number): number {
  return (
    (baseline.weighted - other.weighted) / weightSum -
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

/** `fast`: every finite d is within the range of the fast exponential; NaN passes and comes out as NaN. */
function rangeOf(logits: Float32Array) {
  let largest = Number.NEGATIVE_INFINITY;
  let least = Number.POSITIVE_INFINITY;
  let top = 0;
  for (let i = 0; i < logits.length; i++) {
    const logit = logits[i] as number;
    if (logit > largest) {
      largest = logit;
      top = i;
    }
    if (logit < least) least = logit;
  }
  return { largest, top, fast: least - largest >= LEAST_EXPONENT };
}
