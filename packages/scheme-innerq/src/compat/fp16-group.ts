/**
 * The group quantizers of the InnerQ authors' Python model, bit for bit as they run on a CPU: codes and scales in f16 with
 * one rounding per operation, decoded values in f32.
 */
import { roundHalfEven, roundToF16 } from '@lowbit-kv/core';

/** What the int32 cast of a NaN code gives there; its scale is then 0, infinite or NaN. */
export const NAN_AS_INTEGER = -(2 ** 31);

export interface SymmetricGroup {
  readonly magnitudes: Int32Array;
  /** -1, 0 or 1: of the value, also where the magnitude is 0. */
  readonly signs: Int8Array;
  readonly scale: number;
}

export interface AsymmetricGroup {
  readonly codes: Int32Array;
  readonly scale: number;
  /** The minimum. */
  readonly zero: number;
}

export interface HybridGroup {
  readonly symmetric: SymmetricGroup;
  /** One bit less than the symmetric side. */
  readonly asymmetric: AsymmetricGroup;
  readonly useSymmetric: boolean;
}

/** Scale = max|x| / m and magnitudes 0 to m, with m = 2^(bits-1) - 1. Values are f16 values, as in all functions here. */
export function quantizeSymmetric(values: Float32Array, bits: number): SymmetricGroup {
  const largest = 2 ** (bits - 1) - 1;
  let maximum = 0;
  for (const value of values) maximum = Math.max(maximum, Math.abs(value));
  const scale = roundToF16(maximum / largest);
  const magnitudes = Int32Array.from(values, (value) =>
    codeOf(roundToF16(Math.abs(value) / scale), largest),
  );
  return { magnitudes, signs: Int8Array.from(values, Math.sign), scale };
}

export function quantizeAsymmetric(values: Float32Array, bits: number): AsymmetricGroup {
  const largest = 2 ** bits - 1;
  let zero = Number.POSITIVE_INFINITY;
  let maximum = Number.NEGATIVE_INFINITY;
  for (const value of values) {
    zero = Math.min(zero, value);
    maximum = Math.max(maximum, value);
  }
  const scale = roundToF16(roundToF16(maximum - zero) / largest);
  const codes = Int32Array.from(values, (value) =>
    codeOf(roundToF16(roundToF16(value - zero) / scale), largest),
  );
  return { codes, scale, zero };
}

/** Symmetric only where the asymmetric error (sum of absolute differences in f32) is strictly larger: never with NaN. */
export function quantizeHybrid(values: Float32Array, bits: number): HybridGroup {
  const symmetric = quantizeSymmetric(values, bits);
  const asymmetric = quantizeAsymmetric(values, bits - 1);
  const useSymmetric =
    absoluteError(decodeAsymmetric(asymmetric), values) >
    absoluteError(decodeSymmetric(symmetric), values);
  return { symmetric, asymmetric, useSymmetric };
}

export function decodeSymmetric({ magnitudes, signs, scale }: SymmetricGroup): Float32Array {
  return Float32Array.from(
    magnitudes,
    (magnitude, i) => Math.fround(magnitude * scale) * (signs[i] as number),
  );
}

export function decodeAsymmetric({ codes, scale, zero }: AsymmetricGroup): Float32Array {
  return Float32Array.from(codes, (code) => Math.fround(code * scale) + zero);
}

export function decodeHybrid({ symmetric, asymmetric, useSymmetric }: HybridGroup): Float32Array {
  return useSymmetric ? decodeSymmetric(symmetric) : decodeAsymmetric(asymmetric);
}

/** Clamped, rounded half to even, cast to int32. */
function codeOf(quotient: number, largest: number): number {
  if (Number.isNaN(quotient)) return NAN_AS_INTEGER;
  return roundHalfEven(Math.min(Math.max(quotient, 0), largest));
}

/** In element order; the order of the original's sum is not known, and no group of the golden files depends on it. */
function absoluteError(decoded: Float32Array, values: Float32Array): number {
  let sum = 0;
  for (const [i, value] of values.entries())
    sum = Math.fround(sum + Math.abs(Math.fround((decoded[i] as number) - value)));
  return sum;
}
