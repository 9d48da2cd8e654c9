/** The offline calibration a scheme is replayed with: given by the caller, or measured by the scheme itself. */
import {
  type Calibration,
  LowbitKvError,
  type Scheme,
  type SchemeData,
  schemeFingerprint,
} from '@lowbit-kv/core';
import type { CalibrationSource } from './calibration-source.js';
import { calibrationForReplay, type LayerPlaces } from './layer-mapping.js';
import { calibrationStage } from './pre-rope.js';
import type { CalibrationNote } from './report.js';

export interface ResolvedCalibration {
  readonly calibration: Calibration;
  readonly note: CalibrationNote;
}

/** Null when the scheme needs none. Throws CALIBRATION_MISSING or CALIBRATION_INVALID. */
export async function resolveCalibration(
  scheme: Scheme,
  replayed: SchemeData,
  places: LayerPlaces,
  given: Calibration | undefined,
  source: CalibrationSource,
): Promise<ResolvedCalibration | null> {
  if (scheme.calibration.kind !== 'offline') return null;
  if (given !== undefined) {
    const { provenance } = given;
    const facts = Object.entries(provenance).map(([name, text]) => `${name} ${text}`);
    return {
      calibration: calibrationForReplay(given, scheme, replayed, places),
      note: { source: 'given', description: facts.join(', ') || 'given without provenance' },
    };
  }
  if (scheme.calibrate === undefined) {
    throw new LowbitKvError('CALIBRATION_MISSING', {
      message: `scheme ${JSON.stringify(scheme.id)} needs offline calibration and cannot measure it`,
      value: undefined,
      valid: `a Calibration with ${scheme.calibration.values.join(' and ')}`,
      next: 'Pass one in `calibrations`, or give the scheme a `calibrate` function.',
    });
  }
  const layers = await scheme.calibrate(source.samples(calibrationStage(replayed)));
  return {
    calibration: {
      specVersion: 1,
      scheme: schemeFingerprint(replayed),
      provenance: { text: source.note.description },
      layers,
    },
    note: source.note,
  };
}
