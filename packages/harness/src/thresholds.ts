/**
 * What verdicts are decided by. The worst head and the worst layer decide; averages only inform, because a mean over
 * 36 heads hides one that collapsed.
 *
 * Output NMSE is the noise-to-signal power of what attention hands to the rest of the layer. The limits are judgement,
 * not a perplexity: on the default capture they call 4-bit KIVI, which is published as near lossless, safe, and anything
 * that turns one head of it to noise unsafe.
 */
import type { VerdictThresholds } from './report.js';

export const THRESHOLDS: VerdictThresholds = Object.freeze({
  /** Safe up to here: noise 13 dB below the signal in the worst head, 17 dB in the worst layer. */
  safeWorstHead: 0.05,
  safeWorstLayer: 0.02,
  /** Usable with care up to here: 6 dB and 10 dB. Beyond, a head hands on noise of its own size. */
  careWorstHead: 0.25,
  careWorstLayer: 0.1,
  /** Self-check: the f16 cache against float64 over the same f16 values; only output rounding is left. */
  exactOutput: 1e-10,
  /** Self-check: the backend's attention against float64 attention over what the cache holds. */
  cacheAgreement: 1e-6,
  /** Self-check: attending with another layer's cache must be at least this wrong. */
  swappedOutput: 0.05,
});
