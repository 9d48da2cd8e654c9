/**
 * Stored parameters of every type: f32 values in a graph that their type holds exactly, and the bits that stand for them.
 */
import type { ParameterType } from '@lowbit-kv/core';
import { binaryExponent, powerOfTwo } from './binary-exponent.js';
import type { Value } from './builder.js';
import type { Operations } from './operations.js';
import { type Range, roundOffset, roundScale, roundToF16, settleF16 } from './rounding.js';

export const LARGEST_F32 = (2 - 2 ** -23) * 2 ** 127;
const SMALLEST_NORMAL_F32 = 2 ** -126;
const LARGEST_E4M3 = 448;
const SMALLEST_E4M3 = 2 ** -9;
/** Below this, E4M3 numbers are 2^-9 apart. */
const LOWEST_E4M3_EXPONENT = -6;

/** The scale (0 or above) of groups of this extent whose largest code stands for `top`. */
export function storeScale(o: Operations, type: ParameterType, extent: Value, top: number): Value {
  if (type === 'e8m0') {
    const exponent = o.subtract(binaryExponent(o, extent), exponentOf(top));
    return o.select(o.greater(extent, 0), powerInRange(o, exponent), 0);
  }
  const ideal = o.multiply(extent, 1 / top);
  if (type === 'f16') return roundScale(o, ideal);
  return type === 'f32' ? limitF32(o, ideal) : roundToE4m3(o, ideal);
}

/** The scale that is the root of f32 means of squares. */
export function storeRoot(o: Operations, type: ParameterType, square: Value): Value {
  const root = o.squareRoot(o.cast(square, 'float64'));
  if (type === 'f16') {
    const guess = roundToF16(o, o.cast(root, 'float32'));
    const wide = o.cast(square, 'float64');
    return roundScale(
      o,
      settleF16(o, guess, (middle) => o.subtract(o.multiply(middle, middle), wide)),
    );
  }
  if (type === 'f32') return limitF32(o, o.cast(root, 'float32'));
  if (type === 'e4m3') return roundToE4m3(o, root);
  // Half of an odd negative exponent rounds down, a division would round up: 298 more is even and positive.
  const half = o.subtract(o.divide(o.add(binaryExponent(o, square), 298), 2), 149);
  return o.select(o.greater(square, 0), powerInRange(o, half), 0);
}

export function storeZero(o: Operations, type: 'f16' | 'f32', value: Value): Value {
  if (type === 'f16') return roundOffset(o, value);
  const limited = o.maximum(o.minimum(value, LARGEST_F32), -LARGEST_F32);
  return o.select(o.equal(limited, 0), 0, limited);
}

/** Types of the offset and step of `affineParameters`. */
export interface AffineTypes {
  readonly minimum: 'f16' | 'f32';
  readonly step: ParameterType;
}

/** Offset and step of levels from 0 to `top` over a range; both 0 where it is empty. */
export function affineParameters(
  o: Operations,
  range: Range,
  top: number,
  types: AffineTypes = { minimum: 'f16', step: 'f16' },
): { readonly minimum: Value; readonly step: Value } {
  const minimum = storeZero(o, types.minimum, o.select(range.empty, 0, range.minimum));
  // An offset that was rounded up can exceed the maximum: the width is then 0, never negative.
  const width = o.maximum(o.subtract(o.select(range.empty, 0, range.maximum), minimum), 0);
  return { minimum, step: storeScale(o, types.step, width, top) };
}

/** What a graph puts out for stored values: float16, float32, or uint8 bits. */
export function storedOutput(o: Operations, type: ParameterType, value: Value): Value {
  if (type === 'f16') return o.cast(value, 'float16');
  if (type === 'f32') return value;
  const isZero = o.equal(value, 0);
  const exponent = binaryExponent(o, o.select(isZero, 1, value));
  const bits = type === 'e8m0' ? o.add(exponent, 127) : e4m3Bits(o, value, exponent);
  return o.cast(o.select(isZero, 0, bits), 'uint8');
}

/** floor(log2 value), whatever the last place of the logarithm. */
function exponentOf(value: number): number {
  const guess = Math.round(Math.log2(value));
  return 2 ** guess > value ? guess - 1 : guess;
}

function powerInRange(o: Operations, exponent: Value): Value {
  return powerOfTwo(o, o.maximum(o.minimum(exponent, 127), -126));
}

function limitF32(o: Operations, value: Value): Value {
  const limited = o.maximum(o.minimum(value, LARGEST_F32), SMALLEST_NORMAL_F32);
  return o.select(o.greater(value, 0), limited, 0);
}

/** The nearest E4M3 of f32 or f64 values, ties to even, as f32. */
function roundToE4m3(o: Operations, value: Value): Value {
  const wide = o.cast(value, 'float64');
  const exponent = binaryExponent(o, o.cast(value, 'float32'));
  const quantum = o.cast(lastPlace(o, exponent), 'float64');
  const rounded = o.multiply(o.round(o.divide(wide, quantum)), quantum);
  const limited = o.maximum(o.minimum(rounded, LARGEST_E4M3), SMALLEST_E4M3);
  return o.cast(o.select(o.greater(wide, 0), limited, 0), 'float32');
}

/** The distance of E4M3 numbers of this exponent. */
function lastPlace(o: Operations, exponent: Value): Value {
  return powerOfTwo(o, o.subtract(o.maximum(exponent, LOWEST_E4M3_EXPONENT), 3));
}

/** A normal number has 8 to 15 last places, one of which is the exponent field. */
function e4m3Bits(o: Operations, value: Value, exponent: Value): Value {
  const places = o.cast(o.divide(value, lastPlace(o, exponent)), 'int32');
  const field = o.subtract(o.maximum(exponent, LOWEST_E4M3_EXPONENT), LOWEST_E4M3_EXPONENT);
  return o.add(o.multiply(field, 8), places);
}
