/**
 * f16 parameters in a graph: f32 values in, f32 values that f16 holds exactly out.
 */
import type { Value } from './builder.js';
import type { Operations } from './operations.js';

export const LARGEST_F16 = 65504;
export const SMALLEST_NORMAL_F16 = 2 ** -14;

/** Nearest f16, ties to even; infinite beyond the range. */
export function roundToF16(o: Operations, value: Value): Value {
  return o.cast(o.cast(value, 'float16'), 'float32');
}

/** An offset of a group: rounded once, saturating, never -0. */
export function roundOffset(o: Operations, value: Value): Value {
  const limited = o.maximum(o.minimum(roundToF16(o, value), LARGEST_F16), -LARGEST_F16);
  return o.select(o.equal(limited, 0), 0, limited);
}

/** A scale of at least 0: rounded once, saturating; below 2^-14 it is raised to 2^-14 unless it rounds to 0. */
export function roundScale(o: Operations, value: Value): Value {
  const rounded = o.minimum(roundToF16(o, value), LARGEST_F16);
  return o.select(o.greater(rounded, 0), o.maximum(rounded, SMALLEST_NORMAL_F16), 0);
}

/**
 * The next f16 above or below a positive f16 value. Moving by a little more than 2^-11 of the value crosses the middle to
 * the neighbour and stays short of the middle after it; 2^-25 does so among subnormals.
 */
export function f16Neighbour(o: Operations, value: Value, direction: 1 | -1): Value {
  const slightlyMore = 1 + 2 ** -8;
  const move = o.maximum(o.multiply(value, 2 ** -11 * slightlyMore), 2 ** -25 * slightlyMore);
  return roundToF16(o, direction === 1 ? o.add(value, move) : o.subtract(value, move));
}

/**
 * The f16 nearest to a positive number, from a guess that is at most one f16 off. `excess` is positive for f64 numbers above
 * it and negative for those below: the middles to the neighbours decide.
 */
export function settleF16(o: Operations, guess: Value, excess: (middle: Value) => Value): Value {
  const excessTowards = (neighbour: Value) =>
    excess(o.multiply(o.add(o.cast(guess, 'float64'), o.cast(neighbour, 'float64')), 0.5));
  const below = f16Neighbour(o, guess, -1);
  const above = f16Neighbour(o, guess, 1);
  const tooLarge = o.and(o.greater(guess, 0), o.greater(excessTowards(below), 0));
  const tooSmall = o.less(excessTowards(above), 0);
  return o.select(tooLarge, below, o.select(tooSmall, above, guess));
}

/**
 * The integer nearest to difference / scale, ties to even, limited to `lowest ... highest`, as f64; 0 where the scale is 0
 * and for NaN. An f32 divided by an f16 in double precision is a tie only when it is one exactly.
 */
export function nearestCode(
  o: Operations,
  difference: Value,
  scale: Value,
  lowest: number,
  highest: number,
): Value {
  const empty = o.equal(scale, 0);
  const divisor = o.cast(o.select(empty, 1, scale), 'float64');
  const code = o.round(o.divide(o.cast(difference, 'float64'), divisor));
  const limited = o.maximum(o.minimum(code, highest), lowest);
  return o.select(o.or(empty, o.isNaN(code)), 0, limited);
}

export interface Range {
  readonly minimum: Value;
  readonly maximum: Value;
  /** True where no element belongs to the group. */
  readonly empty: Value;
}

/** Smallest and largest of the elements under `mask` (all when null) along `axes`; NaN does not take part. */
export function rangeOf(
  o: Operations,
  values: Value,
  mask: Value | null,
  axes: readonly number[],
): Range {
  const number = o.not(o.isNaN(values));
  const counted = mask === null ? number : o.and(number, mask);
  const minimum = o.reduceMinimum(o.select(counted, values, Number.POSITIVE_INFINITY), axes);
  const maximum = o.reduceMaximum(o.select(counted, values, Number.NEGATIVE_INFINITY), axes);
  return { minimum, maximum, empty: o.greater(minimum, maximum) };
}
