/**
 * The group quantizer of the KIVI authors' code, bit for bit as it runs on a CPU: everything in f16 (input is rounded to
 * it), one rounding per operation, groups that it breaks included.
 *
 * An encoded group is its codes as little-endian 32-bit words (element j of a word at bit `bits * j`), then the f16 scale
 * and the f16 minimum. A code that is NaN is the integer -2^31 there, so it sets bit 31 of its word when it is the first
 * element of one, and is 0 elsewhere.
 */
import { f16ToF32, f32ToF16, type GroupCodec, roundHalfEven, roundToF16 } from '@lowbit-kv/core';

const NAN_AS_INTEGER = -(2 ** 31);

/** A codec for groups of `groupSize` elements, a multiple of the codes in a word. */
export function kiviFp16Codec(bits: 2 | 4, groupSize: number): GroupCodec {
  const codesPerWord = 32 / bits;
  const codeBytes = (groupSize * bits) / 8;
  const largestCode = 2 ** bits - 1;
  return {
    id: `kivi-fp16-${bits}bit-g${groupSize}`,
    version: 1,
    groupSize,
    groupBytes: codeBytes + 4,

    encodeGroup(values, bytes) {
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      const rounded = values.map(roundToF16);
      const { minimum, maximum } = extremes(rounded);
      const scale = roundToF16(roundToF16(maximum - minimum) / largestCode);
      for (let word = 0; word < groupSize / codesPerWord; word++) {
        let packed = 0;
        for (let j = 0; j < codesPerWord; j++) {
          const value = rounded[word * codesPerWord + j] as number;
          const quotient = roundToF16(roundToF16(value - minimum) / scale);
          packed |= codeOf(quotient, largestCode) << (bits * j);
        }
        view.setUint32(4 * word, packed >>> 0, true);
      }
      view.setUint16(codeBytes, f32ToF16(scale), true);
      view.setUint16(codeBytes + 2, f32ToF16(minimum), true);
    },

    decodeGroup(bytes, values) {
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      const scale = f16ToF32(view.getUint16(codeBytes, true));
      const minimum = f16ToF32(view.getUint16(codeBytes + 2, true));
      for (let i = 0; i < groupSize; i++) {
        const word = view.getUint32(4 * Math.floor(i / codesPerWord), true);
        const code = (word >>> (bits * (i % codesPerWord))) & largestCode;
        values[i] = roundToF16(roundToF16(code * scale) + minimum);
      }
    },
  };
}

/** NaN when any value is NaN, as torch has it. */
function extremes(values: Float32Array): { minimum: number; maximum: number } {
  let minimum = Number.POSITIVE_INFINITY;
  let maximum = Number.NEGATIVE_INFINITY;
  for (const value of values) {
    minimum = Math.min(minimum, value);
    maximum = Math.max(maximum, value);
  }
  return { minimum, maximum };
}

/** Clamped, rounded half to even, cast to int32. */
function codeOf(quotient: number, largestCode: number): number {
  if (Number.isNaN(quotient)) return NAN_AS_INTEGER;
  return roundHalfEven(Math.min(Math.max(quotient, 0), largestCode));
}
