/**
 * Level-table group quantizers (non-uniform levels): value = scale * levels[code], one scale per group. docs/law.md 4.
 *
 * The scale is max|x| / max|level|, or the root mean square of the group. The code is how many of the scaled middles
 * between neighbouring levels lie below x, each product rounded to f32 once: no division, the same on every device.
 */
import { f16DecodeTable, f32ToF16 } from '../float16.js';
import type { LevelTable } from '../scheme.js';
import { pairwiseSum } from './hybrid.js';
import { scaleBits } from './scale.js';

/** f32 levels of a table, rising. A plan holds calibrated tables resolved. */
export function levelsOf(table: LevelTable): Float32Array {
  return Float32Array.from(table.levels as readonly number[]);
}

/** f32 middles between neighbouring levels. */
export function middlesOf(levels: Float32Array): Float32Array {
  return Float32Array.from({ length: levels.length - 1 }, (_, i) => {
    return ((levels[i] as number) + (levels[i + 1] as number)) / 2;
  });
}

/** Quantizes consecutive groups of `size` values; see quantizeAsymmetric. A scale of 0 has codes of 0. */
export function quantizeLevels(
  values: Float32Array,
  groups: number,
  size: number,
  table: LevelTable,
  codes: Uint8Array,
  scales: Uint16Array,
): void {
  const decode = f16DecodeTable();
  const levels = levelsOf(table);
  const middles = middlesOf(levels);
  const thresholds = new Float32Array(middles.length);
  const squares = new Float32Array(size);
  for (let group = 0, first = 0; group < groups; group++, first += size) {
    const bits =
      table.scaledBy === 'rootMeanSquare'
        ? rootMeanSquareBits(values, first, size, squares)
        : largestBits(values, first, size, levels);
    const scale = decode[bits] as number;
    scales[group] = bits;
    for (let j = 0; j < middles.length; j++) thresholds[j] = (middles[j] as number) * scale;
    for (let i = first; i < first + size; i++) {
      const value = values[i] as number;
      let code = 0;
      if (scale > 0)
        while (code < thresholds.length && value > (thresholds[code] as number)) code++;
      codes[i] = code;
    }
  }
}

function largestBits(
  values: Float32Array,
  first: number,
  size: number,
  levels: Float32Array,
): number {
  let largest = 0;
  for (let i = first; i < first + size; i++) {
    const magnitude = Math.abs(values[i] as number);
    if (magnitude > largest) largest = magnitude;
  }
  const top = Math.max(-(levels[0] as number), levels[levels.length - 1] as number);
  return scaleBits(Math.fround(largest * Math.fround(1 / top)));
}

/** f16 bits nearest to sqrt(mean x^2): f32 squares over the pairwise tree, one multiply by 1/n, the root by comparing squares. */
function rootMeanSquareBits(
  values: Float32Array,
  first: number,
  size: number,
  squares: Float32Array,
): number {
  for (let i = 0; i < size; i++) {
    const value = values[first + i] as number;
    squares[i] = Number.isNaN(value) ? 0 : value * value;
  }
  const mean = Math.fround(pairwiseSum(squares, size) * Math.fround(1 / size));
  return scaleBits(squareRoot(mean));
}

/** The f16 value nearest to the square root of an f32, decided by comparing squares exactly. */
export function squareRoot(square: number): number {
  const table = f16DecodeTable();
  let bits = f32ToF16(Math.sqrt(square));
  // Middles of neighbouring f16 values have 12 bits: their squares are exact in double precision.
  const middle = (upper: number) => ((table[upper] as number) + (table[upper - 1] as number)) / 2;
  while (bits > 0 && middle(bits) ** 2 > square) bits--;
  while (bits < 0x7bff && middle(bits + 1) ** 2 < square) bits++;
  return table[bits] as number;
}
