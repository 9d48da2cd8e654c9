/**
 * f32 values of parameters from their bits, which are int32.
 */
import type { ParameterType } from '@lowbit-kv/core';
import type { Value } from './builder.js';
import type { Operations } from './operations.js';

export function parameterValues(o: Operations, type: ParameterType, bits: Value): Value {
  if (type === 'e4m3') return o.gather(o.graph.constant('float32', e4m3Values()), bits, 0);
  if (type === 'e8m0') return o.gather(o.graph.constant('float32', e8m0Values()), bits, 0);
  const magnitude = magnitudeBits(o, type, bits);
  const value =
    type === 'f16' ? floatValues(o, magnitude, 5, 10) : floatValues(o, magnitude, 8, 23);
  return o.select(isNegative(o, type, bits), o.negate(value), value);
}

export function isNegative(o: Operations, type: 'f16' | 'f32', bits: Value): Value {
  return type === 'f16' ? o.atLeast(bits, 0x8000) : o.less(bits, 0);
}

/** Bits without the sign. */
export function magnitudeBits(o: Operations, type: 'f16' | 'f32', bits: Value): Value {
  return o.bitAnd(bits, type === 'f16' ? 0x7fff : 0x7fffffff);
}

/** Values of floats without a sign, from the widths of their fields. */
function floatValues(
  o: Operations,
  magnitude: Value,
  exponentBits: number,
  mantissaBits: number,
): Value {
  const leadingOne = 2 ** mantissaBits;
  const exponent = o.divide(magnitude, leadingOne);
  const mantissa = o.bitAnd(magnitude, leadingOne - 1);
  const places = o.select(o.greater(exponent, 0), o.add(mantissa, leadingOne), mantissa);
  // Entry e is the weight of the last place; subnormal numbers have that of the smallest normal ones.
  const bias = 2 ** (exponentBits - 1) - 1 + mantissaBits;
  const weights = Array.from({ length: 2 ** exponentBits }, (_, e) => 2 ** (Math.max(e, 1) - bias));
  const weight = o.gather(o.graph.constant('float32', weights), exponent, 0);
  return o.multiply(o.cast(places, 'float32'), weight);
}

/** 4 bits of exponent with bias 7, 3 of mantissa; a scale has no sign, and code 127 never occurs. */
function e4m3Values(): number[] {
  return Array.from({ length: 256 }, (_, bits) => {
    const [field, mantissa] = [bits >> 3, bits & 7];
    if (bits > 126) return 0;
    return field === 0 ? mantissa / 512 : (8 + mantissa) * 2 ** (field - 10);
  });
}

/** Powers of two with bias 127; 0 is a scale of 0, and 255 never occurs. */
function e8m0Values(): number[] {
  return Array.from({ length: 256 }, (_, k) => (k === 0 || k === 255 ? 0 : 2 ** (k - 127)));
}
