/**
 * Every tolerance of the tests, named: what is measured, how much is allowed, against what it is normalised. Encoded bytes
 * have none: they are equal.
 */

export interface Tolerance {
  readonly metric: 'nmse' | 'maximumAbsoluteDifference';
  /** The largest value that passes. */
  readonly value: number;
  readonly normalisedBy: 'energy of the expected tensor' | 'nothing';
}

/** Output of float64 attention over equal f32 tokens, rounded to f32 at the end: only the order of sums differs. */
export const ONNX_ATTENTION_OUTPUT: Tolerance = {
  metric: 'nmse',
  value: 1e-13,
  normalisedBy: 'energy of the expected tensor',
};

/** Its log-sum-exp, natural logarithm, rounded to f32: an ulp of values up to 64. */
export const ONNX_ATTENTION_LOG_SUM_EXP: Tolerance = {
  metric: 'maximumAbsoluteDifference',
  value: 2 ** -18,
  normalisedBy: 'nothing',
};

/** Decoded values of the vectors, which print six digits made from parameters that were not rounded to f16. */
export const SPEC_VECTOR_DECODED: Tolerance = {
  metric: 'maximumAbsoluteDifference',
  value: 1e-3,
  normalisedBy: 'nothing',
};

/** Attention over pointer data, in units of the value amplitude: the data is lossless, so only the softmax is left. */
export const POINTER_ATTENTION: Tolerance = {
  metric: 'maximumAbsoluteDifference',
  value: 1e-3,
  normalisedBy: 'nothing',
};

/** f32 output of attention against float64 attention over the decoded keys and values, which are f32. */
export const DECODED_ATTENTION_OUTPUT: Tolerance = {
  metric: 'nmse',
  value: 1e-10,
  normalisedBy: 'energy of the expected tensor',
};

/** Its log-sum-exp. */
export const DECODED_ATTENTION_LOG_SUM_EXP: Tolerance = {
  metric: 'maximumAbsoluteDifference',
  value: 2e-5,
  normalisedBy: 'nothing',
};
