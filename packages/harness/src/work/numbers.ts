/** Numbers as bytes: float64, little-endian on every machine. */
import { endianness } from 'node:os';
import type { RecordCodec } from './records.js';

export function bytesOfNumbers(numbers: Float64Array): Buffer {
  const bytes = Buffer.from(Float64Array.from(numbers).buffer);
  return endianness() === 'LE' ? bytes : bytes.swap64();
}

/** The `count` numbers, or why they are not there. */
export function numbersOfBytes(bytes: Uint8Array, count: number): Float64Array | string {
  const expected = count * Float64Array.BYTES_PER_ELEMENT;
  if (bytes.length !== expected) return `${bytes.length} bytes in place of ${expected}`;
  const copy = Buffer.from(Uint8Array.from(bytes).buffer);
  if (endianness() !== 'LE') copy.swap64();
  return new Float64Array(copy.buffer, copy.byteOffset, count);
}

/** Records of so many numbers. */
export function numbersCodec(count: number): RecordCodec<Float64Array> {
  return {
    encode: bytesOfNumbers,
    decode(payload) {
      const value = numbersOfBytes(payload, count);
      return typeof value === 'string' ? value : { value };
    },
  };
}
