/** The figures of an evaluation, once more and as plainly as can be: float64, straight from the definitions. */

export interface NaivePrediction {
  /** -ln p of the right token. */
  readonly negativeLog: number;
  readonly divergence: number;
  readonly agrees: number;
  readonly change: number;
}

function probabilities(logits: ArrayLike<number>): number[] {
  const list = Array.from(logits);
  const largest = list.reduce((a, b) => Math.max(a, b));
  const powers = list.map((logit) => Math.exp(logit - largest));
  const total = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / total);
}

/** -ln p, also where p itself would be 0. */
function logs(logits: ArrayLike<number>): number[] {
  const list = Array.from(logits);
  const largest = list.reduce((a, b) => Math.max(a, b));
  const total = list.reduce((sum, logit) => sum + Math.exp(logit - largest), 0);
  return list.map((logit) => logit - largest - Math.log(total));
}

export function naivePrediction(
  baseline: ArrayLike<number>,
  other: ArrayLike<number>,
  target: number,
): NaivePrediction {
  const [p, q] = [probabilities(baseline), probabilities(other)];
  const [logP, logQ] = [logs(baseline), logs(other)];
  const best = (list: readonly number[]) => list.indexOf(Math.max(...list));
  return {
    negativeLog: -(logQ[target] as number),
    divergence: p.reduce(
      (sum, share, i) =>
        share === 0 ? sum : sum + share * ((logP[i] as number) - (logQ[i] as number)),
      0,
    ),
    agrees: best(p) === best(q) ? 1 : 0,
    change: (q[target] as number) - (p[target] as number),
  };
}

export function mean(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0) / values.length;
}

/** Square root of the sample variance over the count. */
export function standardError(values: readonly number[]): number {
  const middle = mean(values);
  const variance =
    values.map((value) => (value - middle) ** 2).reduce((a, b) => a + b, 0) / (values.length - 1);
  return Math.sqrt(variance / values.length);
}
