/** Writer of safetensors files: streams tensors of any size, and the file appears whole or not at all. */
import { memorySource } from './byte-source.js';
import {
  bitsPerElement,
  isSafetensorsDtype,
  SAFETENSORS_DTYPES,
  type SafetensorsDtype,
  tensorByteLength,
} from './safetensors-dtypes.js';
import { safetensorsError } from './safetensors-error.js';
import { readIndex } from './safetensors-header.js';
import { writeWhole } from './write-whole.js';

export interface TensorToWrite {
  readonly name: string;
  readonly dtype: SafetensorsDtype;
  readonly shape: readonly number[];
  /** Little-endian elements, row-major: whole, or in parts that are asked for one at a time. */
  readonly data: ArrayBufferView | Iterable<ArrayBufferView> | AsyncIterable<ArrayBufferView>;
}

interface PlacedTensor extends TensorToWrite {
  readonly byteLength: number;
}

/**
 * Writes `path`: whole or not at all. Tensors with wider elements come first, so that each is aligned; otherwise order is
 * kept. Throws SAFETENSORS_INVALID for input that would not give a valid file, FILE_NOT_WRITTEN, and what the data throw.
 */
export async function writeSafetensors(
  path: string,
  tensors: readonly TensorToWrite[],
  metadata: Readonly<Record<string, string>> | ReadonlyMap<string, string> = {},
): Promise<void> {
  const placed = place(path, tensors);
  const header = encodeHeader(path, placed, metadata);
  // The reader's own rules (names, ranks, header length), before any data are asked for.
  const size = placed.reduce((sum, { byteLength }) => sum + byteLength, header.length);
  await readIndex({ ...memorySource(header, path), size });
  await writeWhole(path, piecesOf(path, header, placed));
}

async function* piecesOf(
  path: string,
  header: Uint8Array,
  placed: readonly PlacedTensor[],
): AsyncGenerator<Uint8Array> {
  yield header;
  for (const tensor of placed) yield* piecesOfTensor(path, tensor);
}

function place(path: string, tensors: readonly TensorToWrite[]): PlacedTensor[] {
  const placed = tensors.map((tensor): PlacedTensor => {
    const { name, dtype, shape } = tensor;
    const refuse = (reason: string, value: unknown, valid: string | readonly unknown[]) =>
      safetensorsError(path, { reason, tensor: name, value, valid, next: 'Correct the tensor.' });
    if (name === '__metadata__') {
      throw refuse('this name is reserved', name, 'any other name');
    }
    if (!isSafetensorsDtype(dtype)) throw refuse('unknown dtype', dtype, SAFETENSORS_DTYPES);
    if (!shape.every((n) => Number.isSafeInteger(n) && n >= 0)) {
      throw refuse('a shape holds unsigned integers', shape, 'integers from 0');
    }
    const byteLength = tensorByteLength(dtype, shape);
    if (byteLength === undefined) {
      throw refuse('the shape has no size in whole bytes below 2^53', shape, 'a smaller shape');
    }
    return { ...tensor, byteLength };
  });
  return placed.sort((a, b) => bitsPerElement(b.dtype) - bitsPerElement(a.dtype));
}

function encodeHeader(
  path: string,
  placed: readonly PlacedTensor[],
  metadata: Readonly<Record<string, string>> | ReadonlyMap<string, string>,
): Uint8Array {
  // Members are joined as text: an object would lose the name __proto__.
  const pairs = [...(metadata instanceof Map ? metadata : Object.entries(metadata))];
  for (const [name, text] of pairs) {
    if (typeof text !== 'string') {
      throw safetensorsError(path, {
        reason: `metadata values are texts; ${JSON.stringify(name)} is not`,
        value: text,
        valid: 'a string',
        next: 'Turn the value into text.',
      });
    }
  }
  const texts = pairs.map(([name, text]) => `${JSON.stringify(name)}:${JSON.stringify(text)}`);
  const members = texts.length === 0 ? [] : [`"__metadata__":{${texts.join(',')}}`];
  let begin = 0;
  for (const { name, dtype, shape, byteLength } of placed) {
    const info = { dtype, shape, data_offsets: [begin, begin + byteLength] };
    members.push(`${JSON.stringify(name)}:${JSON.stringify(info)}`);
    begin += byteLength;
  }
  const json = new TextEncoder().encode(`{${members.join(',')}}`);
  const length = Math.ceil(json.length / 8) * 8;
  const header = new Uint8Array(8 + length).fill(0x20, 8);
  new DataView(header.buffer).setBigUint64(0, BigInt(length), true);
  header.set(json, 8);
  return header;
}

async function* piecesOfTensor(path: string, tensor: PlacedTensor): AsyncGenerator<Uint8Array> {
  const wrongSize = (bytes: number) =>
    safetensorsError(path, {
      reason: `the data do not fill the shape [${tensor.shape}] of ${tensor.dtype}`,
      tensor: tensor.name,
      value: bytes,
      valid: `${tensor.byteLength} bytes`,
      next: 'Correct the shape or the data.',
    });
  let bytes = 0;
  for await (const part of ArrayBuffer.isView(tensor.data) ? [tensor.data] : tensor.data) {
    bytes += part.byteLength;
    if (bytes > tensor.byteLength) throw wrongSize(bytes);
    yield new Uint8Array(part.buffer, part.byteOffset, part.byteLength);
  }
  if (bytes !== tensor.byteLength) throw wrongSize(bytes);
}
