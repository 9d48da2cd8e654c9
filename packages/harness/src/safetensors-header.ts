/**
 * The header of a safetensors file: 8 bytes of little-endian length, then JSON.
 * Turns it into an index whose every span lies inside the file, or refuses it.
 */
import type { ByteSource } from './byte-source.js';
import { foreignFormat } from './foreign-format.js';
import { HeaderScanner, HeaderSyntaxError, quoteShort } from './header-scanner.js';
import {
  isSafetensorsDtype,
  SAFETENSORS_DTYPES,
  type SafetensorsDtype,
  tensorByteLength,
} from './safetensors-dtypes.js';
import { safetensorsError } from './safetensors-error.js';

/** Longest header that is read, in bytes: the limit of the format's own library. */
export const SAFETENSORS_HEADER_LIMIT = 100_000_000;
/** Most dimensions of a tensor: no array library has more. */
const RANK_LIMIT = 64;
const LENGTH_PREFIX = 8;
const METADATA = '__metadata__';

export interface TensorInfo {
  readonly dtype: SafetensorsDtype;
  readonly shape: readonly number[];
  /** Position of the first byte, counted from the start of the file. */
  readonly byteOffset: number;
  readonly byteLength: number;
}

export interface SafetensorsIndex {
  readonly metadata: Map<string, string>;
  readonly tensors: Map<string, TensorInfo>;
}

/** What the header says of one tensor; offsets count from the end of the header. */
interface Entry {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly begin: number;
  readonly end: number;
}

/** Reads and checks the header. Memory grows with the header's bytes, never with sizes it states. */
export async function readIndex(source: ByteSource): Promise<SafetensorsIndex> {
  const headerLength = await readHeaderLength(source);
  const header = await source.read(LENGTH_PREFIX, headerLength);
  const dataStart = LENGTH_PREFIX + headerLength;
  const index = parseHeader(source, header, dataStart);
  checkCoverage(source, index.tensors, dataStart);
  return index;
}

async function readHeaderLength(source: ByteSource): Promise<number> {
  const { file, size } = source;
  if (size < LENGTH_PREFIX) {
    throw safetensorsError(file, {
      reason: 'not a safetensors file: shorter than the 8 bytes that give the header length',
      value: size,
      valid: 'at least 10 bytes',
    });
  }
  const prefix = await source.read(0, Math.min(size, 16));
  const length = new DataView(prefix.buffer).getBigUint64(0, true);
  const room = BigInt(size - LENGTH_PREFIX);
  if (length > room) {
    const foreign = foreignFormat(prefix);
    throw safetensorsError(file, {
      reason: `not a safetensors file, or cut short: the first 8 bytes say that the header has ${length} bytes`,
      value: length,
      valid: `at most ${room}, what follows in this file, and at most ${SAFETENSORS_HEADER_LIMIT}`,
      ...(foreign === undefined ? {} : { next: foreign }),
    });
  }
  if (length > BigInt(SAFETENSORS_HEADER_LIMIT)) {
    throw safetensorsError(file, {
      reason: 'the header is longer than the limit',
      value: length,
      valid: `at most ${SAFETENSORS_HEADER_LIMIT} bytes (100 MB)`,
      next: 'Split the tensors over several files.',
    });
  }
  if (length < 2n) {
    throw safetensorsError(file, {
      reason: 'the header is empty',
      value: length,
      valid: 'at least 2 bytes, the JSON object {}',
    });
  }
  return Number(length);
}

function parseHeader(source: ByteSource, header: Uint8Array, dataStart: number): SafetensorsIndex {
  const scanner = new HeaderScanner(header);
  const metadata = new Map<string, string>();
  const tensors = new Map<string, TensorInfo>();
  let metadataSeen = false;
  let current: string | undefined;
  const seen = (name: string) => (name === METADATA ? metadataSeen : tensors.has(name));
  try {
    scanner.object('at the start of the header', seen, (name) => {
      current = name;
      if (name === METADATA) {
        metadataSeen = true;
        readMetadata(scanner, metadata);
      } else {
        tensors.set(name, checkEntry(source, name, readEntry(scanner), dataStart));
      }
      current = undefined;
    });
    scanner.expectEnd();
  } catch (error) {
    if (!(error instanceof HeaderSyntaxError)) throw error;
    throw safetensorsError(source.file, {
      reason: `the header is malformed at byte ${LENGTH_PREFIX + error.offset}: ${error.message}`,
      tensor: current === METADATA ? undefined : current,
    });
  }
  return { metadata, tensors };
}

function readMetadata(scanner: HeaderScanner, metadata: Map<string, string>): void {
  scanner.object(
    'in __metadata__',
    (name) => metadata.has(name),
    (name) => {
      metadata.set(name, scanner.string('a metadata value in quotes'));
    },
  );
}

function readEntry(scanner: HeaderScanner): Entry {
  let dtype: string | undefined;
  let shape: number[] | undefined;
  let offsets: number[] | undefined;
  const seen = (field: string) =>
    (field === 'dtype' && dtype !== undefined) ||
    (field === 'shape' && shape !== undefined) ||
    (field === 'data_offsets' && offsets !== undefined);
  scanner.object('for a tensor', seen, (field) => {
    if (field === 'dtype') dtype = scanner.string('the name of a dtype');
    else if (field === 'shape') shape = scanner.unsignedArray('in shape', RANK_LIMIT);
    else if (field === 'data_offsets') offsets = scanner.unsignedArray('in data_offsets', 2);
    else scanner.fail(`unknown field ${quoteShort(field)}; valid: dtype, shape, data_offsets`);
  });
  if (dtype === undefined) return scanner.fail('the field dtype is missing');
  if (shape === undefined) return scanner.fail('the field shape is missing');
  const [begin, end] = offsets ?? scanner.fail('the field data_offsets is missing');
  if (begin === undefined || end === undefined) {
    return scanner.fail('data_offsets needs two entries, begin and end');
  }
  return { dtype, shape, begin, end };
}

function checkEntry(source: ByteSource, name: string, entry: Entry, dataStart: number): TensorInfo {
  const { dtype, shape, begin, end } = entry;
  const dataLength = source.size - dataStart;
  const refuse = (reason: string, value: unknown, valid: string | readonly unknown[]) =>
    safetensorsError(source.file, { reason, tensor: name, value, valid });
  if (!isSafetensorsDtype(dtype)) throw refuse('unknown dtype', dtype, SAFETENSORS_DTYPES);
  if (begin > end) {
    throw refuse('data_offsets are reversed', [begin, end], 'begin not above end');
  }
  if (end > dataLength) {
    throw refuse(
      'the data end before the tensor does: the file is cut short or the offsets lie',
      [begin, end],
      `offsets up to ${dataLength}`,
    );
  }
  const byteLength = tensorByteLength(dtype, shape);
  if (byteLength === undefined) {
    throw refuse(
      `a ${dtype} tensor of this shape has no size in whole bytes below 2^53`,
      shape,
      `a shape of ${end - begin} bytes`,
    );
  }
  if (byteLength !== end - begin) {
    throw refuse(
      `shape and data_offsets disagree: a ${dtype} tensor of shape [${shape}] has ${byteLength} bytes, data_offsets span ${end - begin}`,
      [begin, end],
      `a span of ${byteLength} bytes`,
    );
  }
  return { dtype, shape, byteOffset: dataStart + begin, byteLength };
}

/** The tensors, in file order, must follow each other without gap or overlap to the last byte. */
function checkCoverage(
  source: ByteSource,
  tensors: ReadonlyMap<string, TensorInfo>,
  dataStart: number,
): void {
  const byOffset = [...tensors].sort(
    ([, a], [, b]) => a.byteOffset - b.byteOffset || a.byteLength - b.byteLength,
  );
  let expected = dataStart;
  let previous = '';
  for (const [name, { byteOffset, byteLength }] of byOffset) {
    if (byteOffset !== expected) {
      throw safetensorsError(source.file, {
        reason:
          byteOffset < expected
            ? `the tensor overlaps ${quoteShort(previous)}`
            : `bytes ${expected - dataStart} to ${byteOffset - dataStart} of the data belong to no tensor`,
        tensor: name,
        value: byteOffset - dataStart,
        valid: `data_offsets that begin at ${expected - dataStart}`,
      });
    }
    expected += byteLength;
    previous = name;
  }
  if (expected !== source.size) {
    throw safetensorsError(source.file, {
      reason: 'bytes after the last tensor belong to no tensor',
      value: source.size - dataStart,
      valid: `${expected - dataStart} bytes of data`,
    });
  }
}
