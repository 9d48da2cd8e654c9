/** Which errors are about a scheme and the data at hand, so that they are a row of a report and not the end of it. */
import { type ErrorCode, LowbitKvError } from '@lowbit-kv/core';

/** Codes that mean: this scheme does not fit this model. */
const REFUSALS: readonly ErrorCode[] = [
  'SHAPE_UNSUPPORTED',
  'PLAN_REFUSED',
  'CALIBRATION_MISSING',
  'CALIBRATION_INVALID',
  'CODEC_MISSING',
  'GEOMETRY_INVALID',
];
/** Codes that mean: this scheme cannot store these data. */
const FAILURES: readonly ErrorCode[] = ['OUTLIER_CAPACITY'];

export interface Refusal {
  readonly status: 'refused' | 'failed';
  readonly code: ErrorCode;
  /** The message without its code. */
  readonly reason: string;
}

/** Null for an error that is about something else. */
export function refusalOf(error: unknown): Refusal | null {
  if (!LowbitKvError.is(error)) return null;
  const refused = REFUSALS.includes(error.code);
  if (!refused && !FAILURES.includes(error.code)) return null;
  const reason = error.message.slice(error.code.length + 2);
  return { status: refused ? 'refused' : 'failed', code: error.code, reason };
}
