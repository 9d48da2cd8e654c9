/**
 * How far attention of this backend may be from the float64 attention of the reference, which is held to the same codes.
 */
import type { AttentionTolerances } from '@lowbit-kv/core/contract';

/** Sums in f32. */
export const F32_ATTENTION: AttentionTolerances = {
  output: { metric: 'nmse', value: 1e-11, normalisedBy: 'energy of the expected tensor' },
  logSumExp: { metric: 'maximumAbsoluteDifference', value: 2e-5, normalisedBy: 'nothing' },
};

/** Queries and probabilities as integers of 15 bits: relative errors below 1e-3. */
export const INTEGER_ATTENTION: AttentionTolerances = {
  output: { metric: 'nmse', value: 1e-6, normalisedBy: 'energy of the expected tensor' },
  logSumExp: { metric: 'maximumAbsoluteDifference', value: 2e-3, normalisedBy: 'nothing' },
};

/** Queries and probabilities as integers of 8 bits: a relative error of some per cent. */
export const FAST_ATTENTION: AttentionTolerances = {
  output: { metric: 'nmse', value: 2e-3, normalisedBy: 'energy of the expected tensor' },
  logSumExp: { metric: 'maximumAbsoluteDifference', value: 0.1, normalisedBy: 'nothing' },
};
