/**
 * Files of offline calibrations: one, or an array of them, each for the scheme it was measured for.
 */
import { readFile } from 'node:fs/promises';
import {
  type Calibration,
  LowbitKvError,
  parseCalibration,
  type Scheme,
  schemeFingerprint,
} from '@lowbit-kv/core';
import { holdsJson, type OutKind } from './out-file.js';

/**
 * Calibrations by scheme id from a JSON file that holds one or an array of them. Throws CALIBRATION_INVALID when the
 * file cannot be read, is malformed, or holds a calibration of none of the schemes.
 */
export async function readCalibrations(
  path: string,
  schemes: readonly Scheme[],
): Promise<Record<string, Calibration>> {
  const content = await readJson(path);
  const found: Record<string, Calibration> = {};
  for (const entry of Array.isArray(content) ? content : [content]) {
    const calibration = parseCalibration(entry);
    const owners = schemes.filter((scheme) => schemeFingerprint(scheme) === calibration.scheme);
    if (owners.length === 0) {
      throw new LowbitKvError('CALIBRATION_INVALID', {
        message: 'a calibration belongs to none of the chosen schemes',
        value: calibration.scheme,
        valid: schemes
          .filter((scheme) => scheme.calibration.kind === 'offline')
          .map((scheme) => `${scheme.id}: ${schemeFingerprint(scheme)}`),
        next: 'Name the scheme it was made for with --scheme, or calibrate again.',
        where: { file: path },
      });
    }
    for (const { id } of owners) found[id] = calibration;
  }
  return found;
}

/** What `calibrate` writes. */
export const CALIBRATION_FILE: OutKind = {
  what: 'one that `lowbit-kv calibrate` wrote',
  extension: '.json',
  holds: (path) =>
    holdsJson(path, (content) => {
      const entries: unknown[] = Array.isArray(content) ? content : [content];
      const isCalibration = (entry: unknown) => parseCalibration(entry) !== null;
      return entries.length > 0 && entries.every(isCalibration);
    }),
};

async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch (cause) {
    throw new LowbitKvError('CALIBRATION_INVALID', {
      message: 'the calibration file cannot be read',
      value: cause instanceof Error ? cause.message : String(cause),
      valid: 'a JSON file with one calibration, or an array of them',
      next: 'Check the path and the content.',
      where: { file: path },
      cause,
    });
  }
}
