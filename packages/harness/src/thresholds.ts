/**
 * What verdicts are decided by. The worst head and the worst layer decide; averages only inform, because a mean over
 * 36 heads hides one that collapsed.
 *
 * Output NMSE is the noise-to-signal power of what attention hands to the rest of the layer.
 */
import type { VerdictThresholds } from './report.js';

export const THRESHOLDS: VerdictThresholds = Object.freeze({
  /** Safe up to here: noise 17 dB below the signal in the worst head, 20 dB in the worst layer. */
  safeWorstHead: 0.02,
  safeWorstLayer: 0.01,
  /** Usable with care up to here: 10 dB and 12 dB. Beyond, the head hands on more error than it can afford. */
  careWorstHead: 0.1,
  careWorstLayer: 0.06,
  /** Self-check: the f16 cache against float64 over the same f16 values; only output rounding is left. */
  exactOutput: 1e-10,
  /** Self-check: the backend's attention against float64 attention over what the cache holds. */
  cacheAgreement: 1e-6,
  /** Self-check: attending with another layer's cache must be at least this wrong. */
  swappedOutput: 0.05,
});
