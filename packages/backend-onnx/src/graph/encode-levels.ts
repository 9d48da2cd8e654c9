/**
 * Level tables: the code is how many scaled middles between neighbouring levels lie below the value, found by halving.
 */
import type { LevelTable, ParameterType } from '@lowbit-kv/core';
import type { Value } from './builder.js';
import type { Operations } from './operations.js';
import { pairwiseSum } from './pairwise-sum.js';
import { type AffineTypes, affineParameters, storeRoot, storeScale } from './parameters.js';
import { rangeOf } from './rounding.js';

interface QuantizedLevels {
  /** int32. */
  readonly codes: Value;
  /** Null when the table is not scaled. */
  readonly scale: Value | null;
}

/** Groups of `size` values around zero. */
export function quantizeLevels(
  o: Operations,
  values: Value,
  size: number,
  table: LevelTable,
  type: ParameterType,
): QuantizedLevels {
  const levels = exactLevels(table);
  if (table.scaledBy === 'none') return { codes: countBelow(o, values, levels, null), scale: null };
  const scale =
    table.scaledBy === 'rootMeanSquare'
      ? rootMeanSquare(o, values, size, type)
      : storeScale(
          o,
          type,
          o.reduceMaximum(o.absolute(numbersOf(o, values)), [-1]),
          Math.max(...levels.map(Math.abs)),
        );
  return { codes: countBelow(o, values, levels, scale), scale };
}

/** Groups over their minimum; the table begins with 0. */
export function quantizeOffsetLevels(
  o: Operations,
  values: Value,
  table: LevelTable,
  types: AffineTypes,
): QuantizedLevels & { readonly zero: Value } {
  const levels = exactLevels(table);
  const top = levels.at(-1) as number;
  const { minimum, step } = affineParameters(o, rangeOf(o, values, null, [-1]), top, types);
  const codes = countBelow(o, o.subtract(values, minimum), levels, step);
  return { codes, scale: step, zero: minimum };
}

function exactLevels({ levels }: LevelTable): number[] {
  return (levels as readonly number[]).map(Math.fround);
}

function numbersOf(o: Operations, values: Value): Value {
  return o.select(o.isNaN(values), 0, values);
}

/** 0 where the scale is 0, and for NaN. */
function countBelow(
  o: Operations,
  values: Value,
  levels: readonly number[],
  scale: Value | null,
): Value {
  const depth = Math.ceil(Math.log2(levels.length));
  const middles = o.graph.constant(
    'float32',
    Array.from({ length: 2 ** depth - 1 }, (_, i) => {
      const [low, high] = [levels[i] as number, levels[i + 1]];
      return high === undefined ? Number.POSITIVE_INFINITY : (low + high) / 2;
    }),
  );
  const used = scale === null ? null : o.greater(scale, 0);
  let count: Value | null = null;
  for (let half = 2 ** (depth - 1); half >= 1; half /= 2) {
    const index: Value = count === null ? o.scalar('int32', half - 1) : o.add(count, half - 1);
    const middle = o.gather(middles, index, 0);
    const threshold = scale === null ? middle : o.multiply(middle, scale);
    const above = o.greater(values, threshold);
    const found = o.multiply(o.cast(used === null ? above : o.and(above, used), 'int32'), half);
    count = count === null ? found : o.add(count, found);
  }
  return count as Value;
}

/** NaN is no member of its group: it adds nothing and is not counted. */
function rootMeanSquare(o: Operations, values: Value, size: number, type: ParameterType): Value {
  const isNumber = o.not(o.isNaN(values));
  const numbers = numbersOf(o, values);
  const along = { rank: 4, axis: 3, count: size };
  const sum = pairwiseSum(o, o.multiply(numbers, numbers), along);
  const members = o.reduceSum(o.cast(isNumber, 'int32'), [3]);
  // Looked up: ONNX Runtime merges a division of 1 with the product after it, which drops a rounding.
  const shares = Array.from({ length: size + 1 }, (_, n) => 1 / Math.max(n, 1));
  const share = o.gather(o.graph.constant('float32', shares), members, 0);
  return storeRoot(o, type, o.multiply(sum, share));
}
