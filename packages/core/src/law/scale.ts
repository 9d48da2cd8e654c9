/**
 * Arithmetic every quantizer of the law shares: half-to-even rounding and scales that survive every device.
 */
import { f16DecodeTable, f32ToF16 } from '../float16.js';

export const F16_SMALLEST_NORMAL_BITS = 0x0400;
export const F16_ONE_BITS = 0x3c00;
export const F16_MAX_BITS = 0x7bff;
/** Adding and subtracting this rounds a double below 2^51 to an integer, half to even. */
export const ROUNDER = 6755399441055744;

/** Nearest integer, ties to even, for |value| < 2^51. */
export function roundHalfEven(value: number): number {
  return value + ROUNDER - ROUNDER;
}

/**
 * f16 bits of a scale: one rounding; a non-zero magnitude below 2^-14 is raised to 2^-14 (devices may flush subnormals),
 * one above 65504 saturates; the sign is kept. docs/law.md 2.
 */
export function scaleBits(value: number): number {
  const bits = f32ToF16(value);
  const magnitude = bits & 0x7fff;
  if (magnitude === 0) return 0;
  if (magnitude < F16_SMALLEST_NORMAL_BITS) return (bits & 0x8000) | F16_SMALLEST_NORMAL_BITS;
  if (magnitude > F16_MAX_BITS) return (bits & 0x8000) | F16_MAX_BITS;
  return bits;
}

/**
 * f16 bits of an offset: one rounding, saturating at the largest finite f16. Zero is stored as +0, because which of -0
 * and +0 is a minimum depends on the order of comparison.
 */
export function offsetBits(value: number): number {
  const bits = f32ToF16(value);
  if ((bits & 0x7fff) === 0) return 0;
  return (bits & 0x7fff) > F16_MAX_BITS ? (bits & 0x8000) | F16_MAX_BITS : bits;
}

/** The f16 value nearest to the square root of an f32. Middles have 12 bits: their squares are exact in double precision. */
export function squareRoot(square: number): number {
  return f16DecodeTable()[
    settle(f32ToF16(Math.sqrt(square)), (middle) => middle ** 2 - square)
  ] as number;
}

/**
 * f16 bits nearest to a number that is not negative, from bits near it. `compare` is positive for middles between
 * neighbouring f16 numbers above the number, and negative for those below.
 */
export function settle(start: number, compare: (middle: number) => number): number {
  const table = f16DecodeTable();
  const middle = (upper: number) => ((table[upper] as number) + (table[upper - 1] as number)) / 2;
  let bits = start;
  while (bits > 0 && compare(middle(bits)) > 0) bits--;
  while (bits < F16_MAX_BITS && compare(middle(bits + 1)) < 0) bits++;
  return bits;
}
