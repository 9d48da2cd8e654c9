/**
 * The law of the ternary codec: a group is an f16 scale and one of -1, 0, 1 per value, five of them in a byte.
 *
 * Every step is integer arithmetic on the bits of the values, so that any device makes the same bytes: no sum depends on
 * its order, and nothing is rounded by hardware. docs of the steps: README.md, "The arithmetic".
 */
import { f16ToF32, type GroupCodec } from '@lowbit-kv/core';
import { cudaText } from './cuda-text.js';
import { wgslText } from './wgsl-text.js';

/** Larger groups would overflow the 32-bit products. */
export const LARGEST_GROUP = 256;
const SCALE_BYTES = 2;
const VALUES_PER_BYTE = 5;

/** Bytes of a group: the scale, and 8 bits for five values. */
export function ternaryGroupBytes(groupSize: number): number {
  return SCALE_BYTES + Math.ceil(groupSize / VALUES_PER_BYTE);
}

export function ternaryCodec(groupSize: number): GroupCodec {
  return {
    id: `ternary-${groupSize}`,
    version: 1,
    groupSize,
    groupBytes: ternaryGroupBytes(groupSize),
    encodeGroup,
    decodeGroup,
    wgsl: wgslText(),
    cuda: cudaText(),
  };
}

function encodeGroup(values: Float32Array, bytes: Uint8Array): void {
  const bits = Uint32Array.from(new Uint32Array(values.slice().buffer), finite);
  const largest = bits.reduce((most, pattern) => Math.max(most, pattern & 0x7fffffff), 0) >>> 23;
  const magnitudes = bits.map((pattern) => fixedPoint(pattern, largest));
  const sum = magnitudes.reduce((total, magnitude) => total + magnitude, 0);
  // A value counts when it is above 0.7 of the mean magnitude.
  const counts = (magnitude: number) => magnitude * 10 * values.length > 7 * sum;
  const members = magnitudes.filter(counts);
  const scale = members.length === 0 ? 0 : meanAsF16(members, largest);
  bytes[0] = scale & 255;
  bytes[1] = scale >> 8;
  for (let at = SCALE_BYTES, first = 0; at < bytes.length; at++, first += VALUES_PER_BYTE) {
    let byte = 0;
    for (let i = Math.min(first + VALUES_PER_BYTE, values.length) - 1; i >= first; i--) {
      const negative = (bits[i] as number) >>> 31 === 1;
      const digit = counts(magnitudes[i] as number) ? (negative ? 0 : 2) : 1;
      byte = byte * 3 + digit;
    }
    bytes[at] = byte;
  }
}

function decodeGroup(bytes: Uint8Array, values: Float32Array): void {
  const scale = f16ToF32((bytes[0] as number) | ((bytes[1] as number) << 8));
  for (let i = 0; i < values.length; i++) {
    const byte = bytes[SCALE_BYTES + Math.floor(i / VALUES_PER_BYTE)] as number;
    const digit = Math.floor(byte / 3 ** (i % VALUES_PER_BYTE)) % 3;
    values[i] = digit === 1 ? 0 : digit === 2 ? scale : -scale;
  }
}

/** NaN as 0, an infinity as the largest f32 number of its sign. */
function finite(pattern: number): number {
  const magnitude = pattern & 0x7fffffff;
  if (magnitude > 0x7f800000) return 0;
  return magnitude === 0x7f800000 ? pattern - 1 : pattern;
}

/** A magnitude in 16 bits, in units of 2^(largest - 142), cut off; f32 subnormals are 0. */
function fixedPoint(pattern: number, largest: number): number {
  const exponent = (pattern >>> 23) & 255;
  const shift = 8 + largest - exponent;
  if (exponent === 0 || shift > 23) return 0;
  return ((pattern & 0x7fffff) | 0x800000) >>> shift;
}

/** f16 bits of the mean of magnitudes: half up to 11 bits, at least 2^-14, at most 65504. */
function meanAsF16(magnitudes: Uint32Array, largest: number): number {
  const total = magnitudes.reduce((sum, magnitude) => sum + magnitude, 0);
  // In units of 2^(largest - 149); the largest magnitude is a member, so there are more than 11 bits.
  const mean = Math.floor((total * 128) / magnitudes.length);
  const top = 31 - Math.clz32(mean);
  const rounded = (mean + (1 << (top - 11))) >> (top - 10);
  const carry = rounded >> 11;
  const exponent = top + carry + largest - 134;
  if (exponent < 1) return 0x0400;
  if (exponent > 30) return 0x7bff;
  return (exponent << 10) | ((rounded >> carry) & 0x3ff);
}
