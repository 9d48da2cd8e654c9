/**
 * Samples and calibrations of one layer for tests.
 */
import {
  type Calibration,
  type CalibrationSample,
  createCalibration,
  type Scheme,
} from '@lowbit-kv/core';

export async function* sequence<T>(items: readonly T[]): AsyncIterable<T> {
  yield* items;
}

/** Of one head, so that `tokens` times the head dim are the numbers given. */
export function sample(
  layer: number,
  tokens: number,
  key: readonly number[],
  value: readonly number[] = key,
): CalibrationSample {
  return {
    ...{ layer, tokens, kvHeads: 1 },
    key: Float32Array.from(key),
    value: Float32Array.from(value),
  };
}

export function measuredCalibration(
  scheme: Scheme,
  samples: readonly CalibrationSample[],
): Promise<Calibration> {
  return createCalibration(scheme, sequence(samples), { source: 'generated' });
}
