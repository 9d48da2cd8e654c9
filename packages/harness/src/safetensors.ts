/**
 * Reader of safetensors files, of any size, by position.
 *
 * Accepts what the format's own library accepts, white space before the first brace included, with
 * these refusals on top: fields other than dtype, shape and data_offsets, duplicate names, more than
 * 64 dimensions, integers above 2^53 - 1. Every refusal is a SAFETENSORS_INVALID error.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import type { ByteSource } from './byte-source.js';
import type { SafetensorsDtype } from './safetensors-dtypes.js';
import { safetensorsError } from './safetensors-error.js';
import { readIndex, type SafetensorsIndex, type TensorInfo } from './safetensors-header.js';
import { convertToF16, F16_READABLE, F32_READABLE, widenToF32 } from './safetensors-widen.js';

/** Reads the header of a source. The file closes it, also when this throws. */
export async function readSafetensors(source: ByteSource): Promise<SafetensorsFile> {
  try {
    return new SafetensorsFile(source, await readIndex(source));
  } catch (error) {
    await source.close();
    throw error;
  }
}

/** An open file: names, types and shapes at once, values on request. Close it after use. */
export class SafetensorsFile {
  /** The path, or a label for bytes in memory. */
  readonly file: string;
  readonly metadata: ReadonlyMap<string, string>;
  /** In header order. */
  readonly tensors: ReadonlyMap<string, TensorInfo>;
  readonly #source: ByteSource;

  /** Use openSafetensors or readSafetensors. */
  constructor(source: ByteSource, index: SafetensorsIndex) {
    this.#source = source;
    this.file = source.file;
    this.metadata = index.metadata;
    this.tensors = index.tensors;
  }

  /** The bytes of a tensor: a copy that starts its own ArrayBuffer, so any typed view is aligned. */
  async read(name: string): Promise<Uint8Array<ArrayBuffer>> {
    const { byteOffset, byteLength } = this.#info(name);
    return this.#source.read(byteOffset, byteLength, name);
  }

  /** The bytes of `rowCount` rows along the first axis, from `firstRow`. */
  async readRows(
    name: string,
    firstRow: number,
    rowCount: number,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const { byteOffset, byteLength, shape } = this.#info(name);
    const rows = shape[0];
    if (rows === undefined) {
      throw safetensorsError(this.file, {
        reason: 'a tensor of rank 0 has no rows',
        tensor: name,
        next: 'Read it whole with read.',
      });
    }
    const rowBytes = rows === 0 ? 0 : byteLength / rows;
    const whole = [firstRow, rowCount].every((n) => Number.isSafeInteger(n) && n >= 0);
    if (!whole || firstRow + rowCount > rows) {
      throw new LowbitKvError('OPTION_INVALID', {
        message: 'rows outside the tensor',
        value: { firstRow, rowCount },
        valid: `whole numbers with firstRow + rowCount up to ${rows}`,
        next: 'Ask for rows that the tensor has.',
        where: { file: this.file, tensor: name },
      });
    }
    if (!Number.isInteger(rowBytes)) {
      throw safetensorsError(this.file, {
        reason: 'rows of this dtype do not fill whole bytes',
        tensor: name,
        next: 'Read it whole with read.',
      });
    }
    return this.#source.read(byteOffset + firstRow * rowBytes, rowCount * rowBytes, name);
  }

  /** The values as f32: exact for 8- and 16-bit types and F32, otherwise rounded to nearest. */
  async readF32(name: string): Promise<Float32Array> {
    const { dtype } = this.#info(name);
    this.#requireDtype(name, dtype, F32_READABLE, 'readF32');
    return widenToF32(dtype, await this.read(name));
  }

  /** The values as f16 bits, rounded to nearest, ties to even; beyond the range gives infinity. */
  async readF16(name: string): Promise<Uint16Array> {
    const { dtype } = this.#info(name);
    this.#requireDtype(name, dtype, F16_READABLE, 'readF16');
    return convertToF16(dtype, await this.read(name));
  }

  /** Releases the file. Reading afterwards is an error, closing again is not. */
  async close(): Promise<void> {
    await this.#source.close();
  }

  #info(name: string): TensorInfo {
    const info = this.tensors.get(name);
    if (info !== undefined) return info;
    const names = [...this.tensors.keys()];
    throw safetensorsError(this.file, {
      reason: 'the file has no tensor of this name',
      value: name,
      valid: names.length > 20 ? [...names.slice(0, 20), `and ${names.length - 20} more`] : names,
      next: 'Use a name that the file has.',
    });
  }

  #requireDtype<T extends SafetensorsDtype>(
    name: string,
    dtype: SafetensorsDtype,
    readable: readonly T[],
    method: string,
  ): asserts dtype is T {
    if ((readable as readonly SafetensorsDtype[]).includes(dtype)) return;
    throw safetensorsError(this.file, {
      reason: `${method} does not convert this dtype`,
      tensor: name,
      value: dtype,
      valid: readable,
      next: 'Read the bytes with read and convert them.',
    });
  }
}
