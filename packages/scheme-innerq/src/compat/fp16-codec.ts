/**
 * The authors' group quantizers as a storage format; input is rounded to f16.
 *
 * An encoded group is its codes (element j at bit `bits * j`, little endian), then the f16 scale and, but for symmetric
 * groups, the f16 zero. A symmetric code is a magnitude with the sign in its top bit; a zero has no sign. The sign bit of
 * the scale of a hybrid group says which side was taken (1 = asymmetric). A code that is NaN is the largest one in an
 * asymmetric group, 0 in a symmetric one; decoding differs from other codes only where the scale is infinite.
 */
import { f16ToF32, f32ToF16, type GroupCodec, roundToF16 } from '@lowbit-kv/core';
import {
  type AsymmetricGroup,
  decodeAsymmetric,
  decodeSymmetric,
  NAN_AS_INTEGER,
  quantizeAsymmetric,
  quantizeHybrid,
  quantizeSymmetric,
  type SymmetricGroup,
} from './fp16-group.js';

export type InnerqMode = 'symmetric' | 'asymmetric' | 'hybrid';

/** A codec for groups of `groupSize` elements that fill whole bytes. */
export function innerqFp16Codec(mode: InnerqMode, bits: 2 | 3 | 4, groupSize = 32): GroupCodec {
  const codeBytes = (groupSize * bits) / 8;
  return {
    id: `innerq-fp16-${mode}-${bits}bit-g${groupSize}`,
    version: 1,
    groupSize,
    groupBytes: codeBytes + (mode === 'symmetric' ? 2 : 4),

    encodeGroup(values, bytes) {
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      const rounded = values.map(roundToF16);
      const hybrid = mode === 'hybrid' ? quantizeHybrid(rounded, bits) : undefined;
      if (mode === 'symmetric' || hybrid?.useSymmetric === true) {
        const group = hybrid?.symmetric ?? quantizeSymmetric(rounded, bits);
        writeCodes(bytes, symmetricCodes(group, bits), bits);
        view.setUint16(codeBytes, f32ToF16(group.scale), true);
        if (mode === 'hybrid') view.setUint16(codeBytes + 2, 0, true);
        return;
      }
      const group = hybrid?.asymmetric ?? quantizeAsymmetric(rounded, bits);
      const mark = mode === 'hybrid' ? 0x8000 : 0;
      writeCodes(bytes, asymmetricCodes(group, mode === 'hybrid' ? bits - 1 : bits), bits);
      view.setUint16(codeBytes, f32ToF16(group.scale) | mark, true);
      view.setUint16(codeBytes + 2, f32ToF16(group.zero), true);
    },

    decodeGroup(bytes, values) {
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      const scaleBits = view.getUint16(codeBytes, true);
      const codes = readCodes(bytes, groupSize, bits);
      const marked = mode === 'hybrid' && (scaleBits & 0x8000) !== 0;
      if (mode === 'symmetric' || (mode === 'hybrid' && !marked)) {
        values.set(decodeSymmetric(symmetricGroup(codes, bits, f16ToF32(scaleBits))));
        return;
      }
      const scale = f16ToF32(marked ? scaleBits & 0x7fff : scaleBits);
      const zero = f16ToF32(view.getUint16(codeBytes + 2, true));
      // Finite values over an infinite scale are 0; every other code stands for NaN there.
      const restored =
        scale === Number.POSITIVE_INFINITY
          ? codes.map((code) => (code === 0 ? 0 : NAN_AS_INTEGER))
          : codes;
      values.set(decodeAsymmetric({ codes: restored, scale, zero }));
    },
  };
}

function symmetricCodes({ magnitudes, signs }: SymmetricGroup, bits: number): Int32Array {
  const signBit = 2 ** (bits - 1);
  return magnitudes.map((magnitude, i) => {
    if (magnitude === NAN_AS_INTEGER || magnitude === 0) return 0;
    return (signs[i] as number) < 0 ? magnitude | signBit : magnitude;
  });
}

function symmetricGroup(codes: Int32Array, bits: number, scale: number): SymmetricGroup {
  const signBit = 2 ** (bits - 1);
  return {
    magnitudes: codes.map((code) => code & (signBit - 1)),
    signs: Int8Array.from(codes, (code) => (code & signBit ? -1 : 1)),
    scale,
  };
}

function asymmetricCodes({ codes }: AsymmetricGroup, bits: number): Int32Array {
  return codes.map((code) => (code === NAN_AS_INTEGER ? 2 ** bits - 1 : code));
}

function writeCodes(bytes: Uint8Array, codes: Int32Array, bits: number): void {
  bytes.fill(0, 0, (codes.length * bits) / 8);
  for (const [i, code] of codes.entries()) {
    const at = i * bits;
    const shifted = code << (at & 7);
    bytes[at >> 3] = (bytes[at >> 3] as number) | (shifted & 255);
    if (shifted > 255) bytes[(at >> 3) + 1] = shifted >> 8;
  }
}

function readCodes(bytes: Uint8Array, count: number, bits: number): Int32Array {
  const mask = 2 ** bits - 1;
  return Int32Array.from({ length: count }, (_, i) => {
    const at = i * bits;
    const word = (bytes[at >> 3] as number) | ((bytes[(at >> 3) + 1] ?? 0) << 8);
    return (word >> (at & 7)) & mask;
  });
}
