/**
 * The group quantizers. Values are f32, groups lie along the last axis; codes come out as int32 below 2^bits, parameters
 * as f32 with a last axis of 1.
 */
import type { ParameterType, QuantizedTensorScheme, Quantizer } from '@lowbit-kv/core';
import type { Value } from './builder.js';
import { quantizeLevels, quantizeOffsetLevels } from './encode-levels.js';
import type { Operations } from './operations.js';
import { pairwiseSum } from './pairwise-sum.js';
import { type AffineTypes, affineParameters, storeScale } from './parameters.js';
import { nearestCode, rangeOf } from './rounding.js';

export interface QuantizedGroups {
  readonly codes: Value;
  /** Null when the quantizer stores no scale. */
  readonly scale: Value | null;
  /** Null when the quantizer stores no zero. */
  readonly zero: Value | null;
}

type HybridQuantizer = Extract<Quantizer, { mode: 'hybrid' }>;
type SymmetricCodes = 'signmag' | 'full' | 'fullSigned';

/** Quantizes groups of `size` values by the rule of the scheme. NaN is no member of its group. */
export function quantizeGroups(
  o: Operations,
  values: Value,
  size: number,
  { quantizer, bits, parameters }: QuantizedTensorScheme,
): QuantizedGroups {
  const types = { step: parameters.scale ?? 'f16', minimum: parameters.zero ?? 'f16' } as const;
  const table = typeof quantizer.codes === 'object' ? quantizer.codes : null;
  if (quantizer.mode === 'hybrid') return quantizeHybrid(o, values, size, bits, quantizer, types);
  if (quantizer.mode === 'asymmetric' && table === null) {
    const { codes, scale, zero } = quantizeAsymmetric(o, values, bits, types);
    return { codes: o.cast(codes, 'int32'), scale, zero };
  }
  if (table === null) {
    const set = quantizer.codes as SymmetricCodes;
    const { codes, scale } = quantizeSymmetric(o, values, bits, set, types.step);
    return { codes: toUnsigned(o, codes, bits), scale, zero: null };
  }
  if (quantizer.mode === 'asymmetric') return quantizeOffsetLevels(o, values, table, types);
  return { ...quantizeLevels(o, values, size, table, types.step), zero: null };
}

/** Groups lie along the last of four axes. */
const alongLast = (count: number) => ({ rank: 4, axis: 3, count });

interface Levels {
  /** Integers as f64. */
  readonly codes: Value;
  readonly scale: Value;
}

function quantizeAsymmetric(
  o: Operations,
  values: Value,
  bits: number,
  types: AffineTypes,
): Levels & { readonly zero: Value } {
  const largestCode = 2 ** bits - 1;
  const range = rangeOf(o, values, null, [-1]);
  const { minimum, step } = affineParameters(o, range, largestCode, types);
  const codes = nearestCode(o, o.subtract(values, minimum), step, 0, largestCode);
  return { codes, scale: step, zero: minimum };
}

function quantizeSymmetric(
  o: Operations,
  values: Value,
  bits: number,
  set: SymmetricCodes,
  type: ParameterType,
): Levels {
  const half = 2 ** (bits - 1);
  const lowest = set === 'signmag' ? 1 - half : -half;
  const numbers = o.select(o.isNaN(values), 0, values);
  const magnitudes = o.absolute(numbers);
  const largest = o.reduceMaximum(magnitudes, [-1]);
  const scale = storeScale(o, type, largest, set === 'signmag' ? half - 1 : half);
  const signed = set === 'fullSigned' ? signedScale(o, numbers, magnitudes, scale) : scale;
  return { codes: nearestCode(o, values, signed, lowest, half - 1), scale: signed };
}

/** The scale with the sign that puts the first value of largest magnitude on the most negative code. */
function signedScale(o: Operations, values: Value, magnitudes: Value, scale: Value): Value {
  const first = o.graph.node('ArgMax', 'int64', [magnitudes], {
    axis: -1,
    keepdims: 1,
    select_last_index: 0,
  });
  const extreme = o.graph.node('GatherElements', values.type, [values, first], { axis: -1 });
  const negative = o.and(o.greater(extreme, 0), o.greater(scale, 0));
  return o.select(negative, o.negate(scale), scale);
}

function quantizeHybrid(
  o: Operations,
  values: Value,
  size: number,
  bits: number,
  rule: HybridQuantizer,
  types: AffineTypes,
): QuantizedGroups {
  const symmetric = quantizeSymmetric(o, values, bits, rule.codes, types.step);
  const asymmetric = quantizeAsymmetric(o, values, rule.asymmetricBits, types);
  const isMember = o.not(o.isNaN(values));
  const product = (levels: Levels) => o.multiply(o.cast(levels.codes, 'float32'), levels.scale);
  const error = (decoded: Value) =>
    pairwiseSum(o, o.select(isMember, o.absolute(o.subtract(decoded, values)), 0), alongLast(size));
  const symmetricError = error(product(symmetric));
  const asymmetricError = error(o.add(product(asymmetric), asymmetric.zero));
  const takeAsymmetric =
    rule.tie === 'symmetric'
      ? o.less(asymmetricError, symmetricError)
      : o.atMost(asymmetricError, symmetricError);
  return {
    codes: o.select(
      takeAsymmetric,
      o.cast(asymmetric.codes, 'int32'),
      toUnsigned(o, symmetric.codes, bits),
    ),
    // A product sets the sign bit of 0 as well; Where of ONNX Runtime would lose it.
    scale: o.multiply(
      o.select(takeAsymmetric, asymmetric.scale, symmetric.scale),
      o.select(takeAsymmetric, o.scalar('float32', -1), o.scalar('float32', 1)),
    ),
    zero: o.select(takeAsymmetric, asymmetric.zero, 0),
  };
}

/** Two's complement in `bits` bits. */
function toUnsigned(o: Operations, codes: Value, bits: number): Value {
  const signed = o.cast(codes, 'int32');
  return o.select(o.less(signed, 0), o.add(signed, 2 ** bits), signed);
}
