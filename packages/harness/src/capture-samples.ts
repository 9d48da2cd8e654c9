/** A capture as what calibration measures. */
import type { CalibrationSample, SchemeData } from '@lowbit-kv/core';
import { calibrationRuns, layersAt } from './calibration-source.js';
import type { Capture } from './capture.js';
import { readCaptureData } from './capture-data.js';
import { calibrationStage } from './pre-rope.js';

/** All tokens of every captured layer, a sample each; keys at the stage that the scheme stores. */
export async function* captureSamples(
  capture: Capture,
  scheme: SchemeData,
): AsyncGenerator<CalibrationSample> {
  const data = await readCaptureData(capture, 1);
  const layers = layersAt(data, calibrationStage(scheme));
  yield* calibrationRuns(layers, data.sizes, data.sizes.tokens, data.sizes.tokens);
}
