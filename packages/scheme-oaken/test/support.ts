/**
 * Calibrations for tests: written by hand, or measured on the data of the test itself.
 */
import {
  type Calibration,
  type CalibrationSample,
  createCalibration,
  type Scheme,
  schemeFingerprint,
  type TensorCalibration,
} from '@lowbit-kv/core';

/** One layer whose keys and values have these band edges. */
export function fixedCalibration(
  scheme: Scheme,
  thresholds: NonNullable<TensorCalibration['thresholds']>,
): Calibration {
  return {
    specVersion: 1,
    scheme: schemeFingerprint(scheme),
    provenance: { source: 'written by hand' },
    layers: [{ key: { thresholds }, value: { thresholds } }],
  };
}

export function measuredCalibration(
  scheme: Scheme,
  samples: readonly CalibrationSample[],
): Promise<Calibration> {
  return createCalibration(scheme, sequence(samples), { source: 'generated' });
}

export async function* sequence<T>(items: readonly T[]): AsyncIterable<T> {
  yield* items;
}
