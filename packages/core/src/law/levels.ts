/**
 * Level-table group quantizers (non-uniform levels), docs/law.md 4: value = scale * level(code), plus a zero where there
 * is one.
 *
 * The code is how many of the scaled middles between neighbouring levels lie below x, each product rounded to f32 once: no
 * division, the same on every device.
 */
import type { LevelTable, ParameterType } from '../scheme.js';
import { rangeParameters } from './asymmetric.js';
import { pairwiseSum } from './hybrid.js';
import {
  type ParameterBits,
  type ParameterTypes,
  type ScaleRule,
  scaleRule,
} from './parameters.js';

/** f32 levels of a table, rising. A plan holds calibrated tables resolved. */
export function levelsOf(table: LevelTable): Float32Array {
  return Float32Array.from(table.levels as readonly number[]);
}

/** f32 middles between neighbouring levels, filled up with infinity to one less than a power of two. */
export function middlesOf(levels: Float32Array): Float32Array {
  const count = 2 ** Math.ceil(Math.log2(levels.length)) - 1;
  return Float32Array.from({ length: count }, (_, i) => {
    const [low, high] = [levels[i] as number, levels[i + 1]];
    return high === undefined ? Number.POSITIVE_INFINITY : (low + high) / 2;
  });
}

/**
 * Quantizes consecutive groups of `size` values around zero; see quantizeAsymmetric. A scale of 0 has codes of 0, and
 * tables that are not scaled have no scales.
 */
export function quantizeLevels(
  values: Float32Array,
  groups: number,
  size: number,
  table: LevelTable,
  codes: Uint8Array,
  scales: ParameterBits,
  type: ParameterType = 'f16',
): void {
  const levels = levelsOf(table);
  const middles = middlesOf(levels);
  if (table.scaledBy === 'none') {
    for (let i = 0; i < groups * size; i++) codes[i] = countBelow(values[i] as number, middles);
    return;
  }
  const top = Math.max(-(levels[0] as number), levels[levels.length - 1] as number);
  const rule = scaleRule(type, top);
  const thresholds = new Float32Array(middles.length);
  const squares = new Float32Array(size);
  for (let group = 0, first = 0; group < groups; group++, first += size) {
    const bits =
      table.scaledBy === 'rootMeanSquare'
        ? rootMeanSquareBits(rule, values, first, size, squares)
        : rule.ofExtent(largestMagnitude(values, first, size));
    const scale = rule.value(bits);
    scales[group] = bits;
    if (scale === 0) {
      codes.fill(0, first, first + size);
      continue;
    }
    for (let j = 0; j < middles.length; j++) thresholds[j] = (middles[j] as number) * scale;
    for (let i = first; i < first + size; i++)
      codes[i] = countBelow(values[i] as number, thresholds);
  }
}

/** As quantizeLevels, for tables that begin with 0 over the group minimum. */
export function quantizeOffsetLevels(
  values: Float32Array,
  groups: number,
  size: number,
  table: LevelTable,
  codes: Uint8Array,
  scales: ParameterBits,
  zeros: ParameterBits,
  types: ParameterTypes,
): void {
  const levels = levelsOf(table);
  const middles = middlesOf(levels);
  const thresholds = new Float32Array(middles.length);
  const measure = rangeParameters(types, levels[levels.length - 1] as number);
  for (let group = 0, first = 0; group < groups; group++, first += size) {
    const { scale, zero } = measure(values, first, first + size, scales, zeros, group);
    if (scale === 0) {
      codes.fill(0, first, first + size);
      continue;
    }
    for (let j = 0; j < middles.length; j++) thresholds[j] = (middles[j] as number) * scale;
    for (let i = first; i < first + size; i++)
      codes[i] = countBelow(Math.fround((values[i] as number) - zero), thresholds);
  }
}

/** How many of rising thresholds (one less than a power of two) lie below a value; 0 for NaN. */
function countBelow(value: number, thresholds: Float32Array): number {
  let count = 0;
  // In a short table the one wrong guess of a straight search costs less than those of a binary one.
  if (thresholds.length < 16) {
    while (count < thresholds.length && value > (thresholds[count] as number)) count++;
    return count;
  }
  for (let step = (thresholds.length + 1) >> 1; step > 0; step >>= 1)
    if (value > (thresholds[count + step - 1] as number)) count += step;
  return count;
}

function largestMagnitude(values: Float32Array, first: number, size: number): number {
  let largest = 0;
  for (let i = first; i < first + size; i++) {
    const magnitude = Math.abs(values[i] as number);
    if (magnitude > largest) largest = magnitude;
  }
  return largest;
}

/** f32 squares over the pairwise tree, one multiply by 1/n; n counts the members. */
function rootMeanSquareBits(
  rule: ScaleRule,
  values: Float32Array,
  first: number,
  size: number,
  squares: Float32Array,
): number {
  let members = 0;
  for (let i = 0; i < size; i++) {
    const value = values[first + i] as number;
    const member = !Number.isNaN(value);
    squares[i] = member ? value * value : 0;
    if (member) members++;
  }
  if (members === 0) return 0;
  return rule.ofMeanSquare(Math.fround(pairwiseSum(squares, size) * Math.fround(1 / members)));
}
