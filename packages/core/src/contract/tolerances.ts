/**
 * How far attention of a backend may be from that of the reference, which attends in float64 over the same codes.
 */
import {
  DECODED_ATTENTION_LOG_SUM_EXP,
  DECODED_ATTENTION_OUTPUT,
  ONNX_ATTENTION_LOG_SUM_EXP,
  ONNX_ATTENTION_OUTPUT,
  type Tolerance,
} from '../testing/tolerances.js';

export interface AttentionTolerances {
  readonly output: Tolerance;
  /** Of finite log-sum-exps; -Infinity is met exactly. */
  readonly logSumExp: Tolerance;
}

/** For backends that attend in float64 and round once: what the ONNX backend is held to. */
export const FLOAT64_ATTENTION: AttentionTolerances = {
  output: ONNX_ATTENTION_OUTPUT,
  logSumExp: ONNX_ATTENTION_LOG_SUM_EXP,
};

/** Of sums in float64 or f32, against float64 attention over the decoded keys and values, which are f32. */
export const DECODED_ATTENTION: AttentionTolerances = {
  output: DECODED_ATTENTION_OUTPUT,
  logSumExp: DECODED_ATTENTION_LOG_SUM_EXP,
};

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
