/**
 * The asymmetric (affine) group quantizer, docs/law.md 3: unsigned codes, zero = the group minimum.
 *
 * A code is the integer nearest to (x - zero) / scale, ties to even. The difference is rounded to f32 once; the quotient
 * of two f32 numbers in double precision can only be a tie when it is one exactly, so division here gives the same
 * codes as comparing x - zero with (code + 1/2) * scale.
 */
import {
  F16_PARAMETERS,
  offsetRule,
  type ParameterBits,
  type ParameterTypes,
  parameterValue,
  scaleRule,
} from './parameters.js';
import { ROUNDER } from './scale.js';

/**
 * Quantizes consecutive groups of `size` values. NaN is no member of its group: nothing is measured on it, its code is 0.
 * Parameters are bits of their types, one per group; codes one byte each.
 */
export function quantizeAsymmetric(
  values: Float32Array,
  groups: number,
  size: number,
  bits: number,
  codes: Uint8Array,
  scales: ParameterBits,
  zeros: ParameterBits,
  types: ParameterTypes = F16_PARAMETERS,
): void {
  // A local copy stays a constant when bundled.
  const rounder = ROUNDER;
  const largestCode = 2 ** bits - 1;
  const measure = rangeParameters(types, largestCode);
  for (let group = 0, first = 0; group < groups; group++, first += size) {
    const end = first + size;
    const { scale, zero } = measure(values, first, end, scales, zeros, group);
    if (scale === 0) {
      codes.fill(0, first, end);
      continue;
    }
    for (let i = first; i < end; i++) {
      const code = Math.fround((values[i] as number) - zero) / scale + rounder - rounder;
      // biome-ignore lint/complexity/useMathMinMax: a NaN must become 0
      codes[i] = code > largestCode ? largestCode : code > 0 ? code : 0;
    }
  }
}

type MeasureRange = (
  values: Float32Array,
  first: number,
  end: number,
  scales: ParameterBits,
  zeros: ParameterBits,
  group: number,
) => { readonly scale: number; readonly zero: number };

/** Writes the parameters of a group whose largest code stands for `top` steps, and returns their values. */
export function rangeParameters(types: ParameterTypes, top: number): MeasureRange {
  const rule = scaleRule(types.scale, top);
  const storeZero = offsetRule(types.zero);
  const zeroValue = parameterValue(types.zero);
  return (values, first, end, scales, zeros, group) => {
    let minimum = Number.POSITIVE_INFINITY;
    let maximum = Number.NEGATIVE_INFINITY;
    for (let i = first; i < end; i++) {
      const value = values[i] as number;
      if (value < minimum) minimum = value;
      if (value > maximum) maximum = value;
    }
    // A group without members.
    if (minimum > maximum) minimum = maximum = 0;
    const zeroBits = storeZero(minimum);
    const zero = zeroValue(zeroBits);
    // A zero that was rounded up can exceed the maximum: the range is then empty, never negative.
    const range = Math.max(Math.fround(maximum - zero), 0);
    const scaleBits = rule.ofExtent(range);
    zeros[group] = zeroBits;
    scales[group] = scaleBits;
    return { scale: rule.value(scaleBits), zero };
  };
}
