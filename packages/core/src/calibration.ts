/**
 * Offline calibration as a document: what a scheme measures, tied to that scheme and to where the values come from.
 */
import { LowbitKvError } from './errors.js';
import { schemeFingerprint } from './plan/plan.js';
import type { Calibration, CalibrationSample, Scheme } from './scheme.js';
import { deepFreeze, parseCalibration } from './scheme-schema.js';

/**
 * Runs the `calibrate` function of a scheme over samples. Throws OPTION_INVALID when the scheme has none and
 * CALIBRATION_INVALID when what it returns is malformed.
 */
export async function createCalibration(
  scheme: Scheme,
  samples: AsyncIterable<CalibrationSample>,
  provenance: Readonly<Record<string, string>>,
): Promise<Calibration> {
  if (scheme.calibrate === undefined) {
    throw new LowbitKvError('OPTION_INVALID', {
      message: `scheme ${JSON.stringify(scheme.id)} cannot calibrate`,
      value: scheme.calibration.kind,
      valid: 'a scheme with a calibrate function',
      next: 'Plan it without a calibration, or write the calibration by hand.',
    });
  }
  const layers = await scheme.calibrate(samples);
  const calibration = { specVersion: 1, scheme: schemeFingerprint(scheme), provenance, layers };
  return deepFreeze(structuredClone(parseCalibration(calibration)));
}
