/**
 * What verdicts of an evaluation are decided by. The worst bucket of positions and the p99 of the divergence decide; the
 * worst layer can only take `safe` away. Perplexity and means over all positions inform, because errors cancel in the one
 * and hide in the others.
 *
 * A divergence of d nats per token means that f16's choices are, on average, e^d times less likely. The limits are
 * judgement: published 4-bit caches that are called lossless stay below 0.02.
 */
import { THRESHOLDS } from '../thresholds.js';
import type { EvalThresholds } from './report.js';

export const EVAL_THRESHOLDS: EvalThresholds = Object.freeze({
  /** Output NMSE of the worst layer, as in comparisons. */
  safeWorstLayer: THRESHOLDS.safeWorstLayer,
  /** Mean KL(f16 || scheme) in the worst bucket of positions, nats. */
  safeWorstBucket: 0.02,
  careWorstBucket: 0.1,
  /** KL that 99 % of the predictions stay within, nats. */
  safeDivergenceP99: 0.2,
  careDivergenceP99: 1,
  /** Self-check: largest difference of a logit between f16 through the cut model and the uncut model. */
  f16Difference: 0.5,
});
