/**
 * Stored parameters, docs/law.md 2: how scales and offsets of each type are rounded, and what their bits stand for.
 */
import { f16DecodeTable } from '../float16.js';
import type { ParameterType } from '../scheme.js';
import { offsetBits, scaleBits, squareRoot } from './scale.js';

/** Types of the parameters of a tensor, where it stores them. */
export interface ParameterTypes {
  readonly scale: ParameterType;
  readonly zero: 'f16' | 'f32';
}

/** The types of most schemes. */
export const F16_PARAMETERS: ParameterTypes = { scale: 'f16', zero: 'f16' };

/** Bits of parameters, one entry per group. */
export type ParameterBits = Uint16Array | Uint32Array;

export function parameterBits(type: ParameterType, count: number): ParameterBits {
  return type === 'f32' ? new Uint32Array(count) : new Uint16Array(count);
}

/** The sign bit of a scale; 0 where the type has none that a scale may use. */
export const SCALE_SIGN: Readonly<Record<ParameterType, number>> = {
  f16: 0x8000,
  f32: 0x80000000,
  e4m3: 0,
  e8m0: 0,
};

/** The scale of groups whose largest code stands for `top`. */
export interface ScaleRule {
  /** Bits of the scale of a group with this largest magnitude, range, or negated extreme value. */
  ofExtent(extent: number): number;
  /** Bits of the scale that is the root of a mean of squares. */
  ofMeanSquare(square: number): number;
  value(bits: number): number;
}

export function scaleRule(type: ParameterType, top: number): ScaleRule {
  const value = parameterValue(type);
  if (type === 'e8m0') {
    const topExponent = exponentOf(top);
    return {
      ofExtent: (extent) => (extent === 0 ? 0 : powerBits(exponentOf(extent) - topExponent)),
      ofMeanSquare: (square) => (square === 0 ? 0 : powerBits(Math.floor(exponentOf(square) / 2))),
      value,
    };
  }
  const step = Math.fround(1 / top);
  if (type === 'f16') {
    return {
      ofExtent: (extent) => scaleBits(Math.fround(extent * step)),
      ofMeanSquare: (square) => scaleBits(squareRoot(square)),
      value,
    };
  }
  const store = type === 'f32' ? floatScaleBits : e4m3ScaleBits;
  return {
    ofExtent: (extent) => store(Math.fround(extent * step)),
    // A double root of an f32 is too close to the exact one to round differently.
    ofMeanSquare: (square) => store(Math.sqrt(square)),
    value,
  };
}

/** Bits of an offset. */
export function offsetRule(type: 'f16' | 'f32'): (value: number) => number {
  return type === 'f16' ? offsetBits : floatOffsetBits;
}

/** The value of a parameter from its bits. */
export function parameterValue(type: ParameterType): (bits: number) => number {
  if (type === 'f32') return floatOf;
  const table = type === 'f16' ? f16DecodeTable() : type === 'e4m3' ? e4m3Table() : e8m0Table();
  return (bits) => table[bits] as number;
}

const LARGEST_E4M3 = 448;
const SMALLEST_E4M3 = 2 ** -9;
const FLOAT_SMALLEST_NORMAL = 0x00800000;
const FLOAT_LARGEST = 0x7f7fffff;

const word = new Uint32Array(1);
const float = new Float32Array(word.buffer);

function bitsOf(value: number): number {
  float[0] = value;
  return word[0] as number;
}

function floatOf(bits: number): number {
  word[0] = bits;
  return float[0] as number;
}

function floatScaleBits(value: number): number {
  const bits = bitsOf(value);
  const magnitude = bits & 0x7fffffff;
  if (magnitude === 0) return 0;
  const kept = Math.min(Math.max(magnitude, FLOAT_SMALLEST_NORMAL), FLOAT_LARGEST);
  return ((bits & 0x80000000) | kept) >>> 0;
}

function floatOffsetBits(value: number): number {
  const bits = bitsOf(value);
  const magnitude = bits & 0x7fffffff;
  return magnitude === 0 ? 0 : ((bits & 0x80000000) | Math.min(magnitude, FLOAT_LARGEST)) >>> 0;
}

/** Nearest E4M3 of a number of at least 0, ties to even; saturates, and what is not 0 stays at least 2^-9. */
function e4m3ScaleBits(value: number): number {
  if (value === 0) return 0;
  if (value >= LARGEST_E4M3) return 0x7e;
  if (value <= SMALLEST_E4M3) return 1;
  const exponent = Math.max(exponentOf(value), -6);
  // In units of the last place, a value has 8 to 15 of them, a subnormal 1 to 7: a carry moves into the exponent.
  const scaled = value * 2 ** (3 - exponent);
  const units = Math.floor(scaled);
  const rest = scaled - units;
  const up = rest > 0.5 || (rest === 0.5 && (units & 1) === 1) ? 1 : 0;
  return (exponent + 6) * 8 + units + up;
}

/** Bits of the power of two with this exponent, limited to those that are normal f32 numbers. */
function powerBits(exponent: number): number {
  return Math.min(Math.max(exponent + 127, 1), 254);
}

/** floor(log2 |value|) of an f32 that is not 0, from its bits; 128 for an infinite one. */
function exponentOf(value: number): number {
  const magnitude = bitsOf(value) & 0x7fffffff;
  const field = magnitude >>> 23;
  return field === 0 ? -118 - Math.clz32(magnitude) : field - 127;
}

let e4m3Values: Float32Array | undefined;
let e8m0Values: Float32Array | undefined;

function e4m3Table(): Float32Array {
  e4m3Values ??= Float32Array.from({ length: 256 }, (_, bits) => {
    const field = (bits >> 3) & 15;
    const units = (bits & 7) + (field === 0 ? 0 : 8);
    const value = (bits & 0x7f) === 0x7f ? Number.NaN : units * 2 ** (Math.max(field, 1) - 10);
    return (bits & 0x80) === 0 ? value : -value;
  });
  return e4m3Values;
}

function e8m0Table(): Float32Array {
  e8m0Values ??= Float32Array.from({ length: 256 }, (_, bits) => {
    if (bits === 0) return 0;
    return bits === 255 ? Number.NaN : 2 ** (bits - 127);
  });
  return e8m0Values;
}
