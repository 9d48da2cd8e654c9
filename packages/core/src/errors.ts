/**
 * Errors of every lowbit-kv package: one class, one table of codes.
 * Each error carries the offending value, the valid values and the next step.
 */

/** What each code means. `docs/errors.md` is checked against this table. */
export const ERROR_CODES = {
  SCHEME_INVALID: 'A scheme object does not satisfy the scheme contract.',
  SPEC_VERSION_UNSUPPORTED: 'A scheme or backend was written for another version of the contract.',
  SCHEME_DUPLICATE: 'Two registered schemes have the same id.',
  SCHEME_UNKNOWN: 'No registered scheme has this id.',
  BACKEND_INVALID: 'A backend object does not satisfy the backend contract.',
  BACKEND_DUPLICATE: 'Two registered backends have the same id.',
  BACKEND_UNKNOWN: 'No registered backend has this id.',
  BACKEND_UNAVAILABLE: 'The backend cannot start on this machine.',
  GEOMETRY_INVALID: 'The model geometry is not valid.',
  SHAPE_UNSUPPORTED: 'The scheme cannot be laid out for this geometry.',
  CALIBRATION_MISSING: 'The scheme needs offline calibration and none was given.',
  CALIBRATION_INVALID:
    'The calibration does not belong to this scheme or geometry, or is malformed.',
  CODEC_MISSING: 'The scheme names a codec that was not given.',
  CODEC_INVALID: 'A codec is malformed, does not fit the tensor that names it, or failed.',
  PLAN_REFUSED: 'The backend does not execute this plan.',
  OPTION_INVALID: 'An option has a value outside its valid range.',
  TENSOR_INVALID: 'A tensor has the wrong shape, type or size.',
  NON_FINITE: 'A key or value is NaN, infinite, or outside the range of f16.',
  OUT_OF_PAGES: 'The pool has too few free pages for this step.',
  OUTLIER_CAPACITY: 'A block has more outliers than the scheme reserved room for.',
  STEP_STATE: 'A step was used out of order.',
  SEQUENCE_STATE: 'A sequence was used after it was disposed, or in two steps at once.',
  CACHE_DISPOSED: 'The cache was used after it was disposed.',
  TRUNCATE_INVALID: 'The sequence cannot be truncated to this length.',
  SNAPSHOT_INVALID: 'A snapshot or block container is damaged or malformed.',
  SNAPSHOT_MISMATCH: 'A snapshot belongs to another plan.',
  BLOCK_INVALID: 'Packed bytes do not satisfy the block format.',
  SAFETENSORS_INVALID: 'A file is not a valid safetensors file.',
  CAPTURE_INVALID: 'A capture lacks a tensor or has the wrong shapes.',
  MEASUREMENT_INVALID: 'A self-check of a measurement failed, so its figures must not be used.',
  SHARD_INVALID: 'A shard file is damaged, malformed or of another version.',
  MERGE_REFUSED:
    'Shards do not make one report: units are missing, differ, or are of other inputs.',
  FILE_NOT_WRITTEN: 'A file could not be written; what was there before still is.',
  MODEL_INVALID: 'A file of a model is missing, damaged or malformed.',
  MODEL_UNSUPPORTED: 'The attention or an input of a model is of a form that cannot be taken over.',
  MODEL_DOWNLOAD: 'A model could not be fetched from the hub.',
  TOKENIZER_INVALID: 'A tokenizer or chat template is missing, damaged or malformed.',
  CONFIG_INVALID:
    'A configuration file does not load, or has a setting that is unknown or of the wrong kind.',
  SCHEME_NOT_FOUND: 'A scheme named on the command line could not be resolved.',
  PEER_MISSING: 'An optional peer dependency is not installed.',
  BACKEND_FAILED: 'A backend failed while executing a job.',
  DEVICE_LOST: 'A kernel or the card failed, and everything in its memory is gone.',
  DEVICE_OUT_OF_MEMORY: 'The device, or pinned memory of the host, has too little free memory.',
  DEVICE_RESOURCE_STATE: 'A device resource was used after it was disposed, or out of order.',
  KERNEL_IMAGE_INVALID: 'A kernel image does not load on this card and driver.',
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;

/** Where bad data was found. Errors print the known parts in this order. */
export interface DataPosition {
  readonly tensor?: string;
  readonly layer?: number;
  readonly sequence?: number;
  readonly head?: number;
  readonly token?: number;
  readonly channel?: number;
}

export interface ErrorDetails {
  readonly message: string;
  /** The value that was refused. */
  readonly value?: unknown;
  /** What would have been accepted: a list of values or a rule in words. */
  readonly valid?: string | readonly unknown[];
  /** What to do now. */
  readonly next: string;
  readonly where?: DataPosition & Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

const MARKER = Symbol.for('@lowbit-kv/core:error');
const POSITION_ORDER = ['tensor', 'layer', 'sequence', 'head', 'token', 'channel'];

/** Thrown by every lowbit-kv package. `LowbitKvError.is` also recognises errors of a second copy of core. */
export class LowbitKvError extends Error {
  override readonly name = 'LowbitKvError';
  readonly code: ErrorCode;
  readonly value: unknown;
  readonly valid: string | readonly unknown[] | undefined;
  readonly next: string;
  readonly where: ErrorDetails['where'];
  /** The message without code, value and advice. */
  readonly summary: string;
  readonly [MARKER] = true;

  constructor(code: ErrorCode, details: ErrorDetails) {
    super(
      formatMessage(code, details),
      details.cause === undefined ? {} : { cause: details.cause },
    );
    this.code = code;
    this.value = details.value;
    this.valid = details.valid;
    this.next = shortened(details.next);
    this.where = details.where;
    this.summary = details.message;
  }

  /** True for a LowbitKvError of any copy of core, optionally of one code. */
  static is(error: unknown, code?: ErrorCode): error is LowbitKvError {
    if (typeof error !== 'object' || error === null || !(MARKER in error)) return false;
    return code === undefined || (error as LowbitKvError).code === code;
  }
}

/** The same error at another place, caused by the one given: what met it knows better where it is. */
export function movedError(error: LowbitKvError, where: NonNullable<ErrorDetails['where']>) {
  const { code, summary, value, valid, next } = error;
  return new LowbitKvError(code, {
    message: summary,
    value,
    ...(valid === undefined ? {} : { valid }),
    next,
    where: { ...error.where, ...where },
    cause: error,
  });
}

function formatMessage(code: ErrorCode, details: ErrorDetails): string {
  const parts = [shortened(details.message).replace(/[.\s]+$/, '')];
  const position = formatPosition(details.where);
  if (position !== '') parts[0] += ` (${position})`;
  if ('value' in details) parts.push(`got ${formatValue(details.value)}`);
  if (details.valid !== undefined) {
    parts.push(
      typeof details.valid === 'string'
        ? `valid: ${shortened(details.valid)}`
        : `valid: ${listText(details.valid)}`,
    );
  }
  return `${code}: ${parts.join('; ')}. ${shortened(details.next)}`;
}

/** Of a part of a message: names and lists in it may come from a damaged file. */
const LONGEST_TEXT = 1000;
const LONGEST_LIST = 200;

function shortened(text: string): string {
  return text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT - 3)}...` : text;
}

function listText(values: readonly unknown[]): string {
  const shown = values.slice(0, LONGEST_LIST).map(formatValue);
  const more = values.length - shown.length;
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join(', ') || 'nothing';
}

function formatPosition(where: ErrorDetails['where']): string {
  if (where === undefined) return '';
  const known = Object.keys(where).filter((key) => where[key] !== undefined);
  const rank = (key: string) =>
    (POSITION_ORDER.indexOf(key) + POSITION_ORDER.length + 1) % (POSITION_ORDER.length + 1);
  known.sort((a, b) => rank(a) - rank(b));
  return known.map((key) => `${key} ${formatValue(where[key])}`).join(', ');
}

/** One-line text of a value, shortened, safe for NaN, infinities, bigint and cyclic objects. */
export function formatValue(value: unknown): string {
  if (typeof value === 'string')
    return JSON.stringify(value.length > 120 ? `${value.slice(0, 117)}...` : value);
  if (typeof value === 'number' && Object.is(value, -0)) return '-0';
  if (typeof value === 'function') return `function ${value.name}`.trimEnd();
  if (typeof value !== 'object' || value === null) return String(value);
  if (ArrayBuffer.isView(value)) return viewText(value);
  try {
    const text = JSON.stringify(value, (_key, item: unknown) => {
      if (ArrayBuffer.isView(item)) return viewText(item);
      return typeof item === 'bigint' || (typeof item === 'number' && !Number.isFinite(item))
        ? String(item)
        : item;
    });
    return text.length > 160 ? `${text.slice(0, 157)}...` : text;
  } catch {
    return Object.prototype.toString.call(value);
  }
}

/** Type and size: tensors are too large to print. */
function viewText(view: ArrayBufferView): string {
  return `${view.constructor.name}(${view.byteLength} bytes)`;
}
