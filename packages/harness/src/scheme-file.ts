/**
 * A scheme in a JSON file: its data, what was calibrated for it, and where it comes from.
 */
import {
  type Calibration,
  parseCalibration,
  parseOrThrow,
  type SchemeData,
  schemeDataOf,
} from '@lowbit-kv/core';
import * as z from 'zod';

export interface SchemeFile {
  readonly schemeFile: 1;
  readonly scheme: SchemeData;
  /** Present when the scheme needs offline calibration. */
  readonly calibration?: Calibration;
  readonly provenance: Readonly<Record<string, string>>;
}

const wrapper = z.strictObject({
  schemeFile: z.literal(1),
  scheme: z.unknown(),
  calibration: z.unknown().optional(),
  provenance: z.record(z.string(), z.string()),
});

/**
 * Checks what a JSON file holds: a scheme file, or the bare data of a scheme. Throws SCHEME_INVALID,
 * SPEC_VERSION_UNSUPPORTED or CALIBRATION_INVALID.
 */
export function parseSchemeFile(content: unknown): SchemeFile {
  const bare = typeof content === 'object' && content !== null && !('schemeFile' in content);
  if (bare) return { schemeFile: 1, scheme: schemeDataOf(content), provenance: {} };
  const { scheme, calibration, provenance } = parseOrThrow(
    wrapper,
    content,
    'SCHEME_INVALID',
    'scheme file',
    'Write it again with `lowbit-kv tune`, or put the data of a scheme into the file.',
  );
  return {
    schemeFile: 1,
    scheme: schemeDataOf(scheme),
    ...(calibration === undefined ? {} : { calibration: parseCalibration(calibration) }),
    provenance,
  };
}
