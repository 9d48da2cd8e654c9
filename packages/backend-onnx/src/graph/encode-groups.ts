/**
 * The group quantizers. Values are f32, groups lie along the last axis; codes come out as int32 below 2^bits, parameters
 * as f32 with a last axis of 1.
 */
import type { LevelTable, QuantizedTensorScheme, Quantizer } from '@lowbit-kv/core';
import type { Value } from './builder.js';
import type { Operations } from './operations.js';
import { pairwiseSum } from './pairwise-sum.js';
import {
  affineParameters,
  nearestCode,
  rangeOf,
  roundScale,
  roundToF16,
  settleF16,
} from './rounding.js';

export interface QuantizedGroups {
  readonly codes: Value;
  readonly scale: Value;
  /** Null when the quantizer stores no zero. */
  readonly zero: Value | null;
}

type HybridQuantizer = Extract<Quantizer, { mode: 'hybrid' }>;
type SymmetricCodes = 'signmag' | 'full' | 'fullSigned';

/** Quantizes groups of `size` values by the rule of the scheme. */
export function quantizeGroups(
  o: Operations,
  values: Value,
  size: number,
  scheme: QuantizedTensorScheme,
): QuantizedGroups {
  const { quantizer, bits } = scheme;
  if (quantizer.mode === 'hybrid') return quantizeHybrid(o, values, size, bits, quantizer);
  if (quantizer.mode === 'asymmetric') {
    const { codes, scale, zero } = quantizeAsymmetric(o, values, bits);
    return { codes: o.cast(codes, 'int32'), scale, zero };
  }
  if (typeof quantizer.codes === 'object') {
    return { ...quantizeLevels(o, values, size, quantizer.codes), zero: null };
  }
  const { codes, scale } = quantizeSymmetric(o, values, bits, quantizer.codes as SymmetricCodes);
  return { codes: toUnsigned(o, codes, bits), scale, zero: null };
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
): Levels & { readonly zero: Value } {
  const largestCode = 2 ** bits - 1;
  const { minimum, step } = affineParameters(o, rangeOf(o, values, null, [-1]), largestCode);
  const codes = nearestCode(o, o.subtract(values, minimum), step, 0, largestCode);
  return { codes, scale: step, zero: minimum };
}

function quantizeSymmetric(
  o: Operations,
  values: Value,
  bits: number,
  set: SymmetricCodes,
): Levels {
  const half = 2 ** (bits - 1);
  const lowest = set === 'signmag' ? 1 - half : -half;
  const numbers = o.select(o.isNaN(values), 0, values);
  const magnitudes = o.absolute(numbers);
  const largest = o.reduceMaximum(magnitudes, [-1]);
  const scale = roundScale(o, o.multiply(largest, 1 / (set === 'signmag' ? half - 1 : half)));
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

/** The code is how many scaled middles between neighbouring levels lie below the value. */
function quantizeLevels(
  o: Operations,
  values: Value,
  size: number,
  { levels, scaledBy }: LevelTable,
): { readonly codes: Value; readonly scale: Value } {
  const exact = (levels as readonly number[]).map(Math.fround);
  const numbers = o.select(o.isNaN(values), 0, values);
  const scale =
    scaledBy === 'rootMeanSquare'
      ? rootMeanSquare(o, numbers, size)
      : roundScale(
          o,
          o.multiply(
            o.reduceMaximum(o.absolute(numbers), [-1]),
            1 / Math.max(...exact.map(Math.abs)),
          ),
        );
  let codes = o.cast(o.multiply(numbers, 0), 'int32');
  for (let i = 1; i < exact.length; i++) {
    const middle = ((exact[i - 1] as number) + (exact[i] as number)) / 2;
    const above = o.and(o.greater(values, o.multiply(scale, middle)), o.greater(scale, 0));
    codes = o.add(codes, o.cast(above, 'int32'));
  }
  return { codes, scale };
}

function rootMeanSquare(o: Operations, numbers: Value, size: number): Value {
  const sum = pairwiseSum(o, o.multiply(numbers, numbers), alongLast(size));
  return roundScale(o, squareRoot(o, o.multiply(sum, 1 / size)));
}

/** The f16 nearest to a square root. */
function squareRoot(o: Operations, square: Value): Value {
  const wide = o.cast(square, 'float64');
  const guess = roundToF16(o, o.cast(o.squareRoot(wide), 'float32'));
  return settleF16(o, guess, (middle) => o.subtract(o.multiply(middle, middle), wide));
}

function quantizeHybrid(
  o: Operations,
  values: Value,
  size: number,
  bits: number,
  rule: HybridQuantizer,
): QuantizedGroups {
  const symmetric = quantizeSymmetric(o, values, bits, rule.codes);
  const asymmetric = quantizeAsymmetric(o, values, rule.asymmetricBits);
  const product = (levels: Levels) => o.multiply(o.cast(levels.codes, 'float32'), levels.scale);
  const error = (decoded: Value) =>
    pairwiseSum(o, o.absolute(o.subtract(decoded, values)), alongLast(size));
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
