/**
 * The asymmetric (affine) group quantizer, docs/law.md 3: unsigned codes, zero = the group minimum.
 *
 * A code is the integer nearest to (x - zero) / scale, ties to even. The difference is rounded to f32 once; the quotient
 * of an f32 by an f16 in double precision can only be a tie when it is one exactly, so division here gives the same
 * codes as comparing x - zero with (code + 1/2) * scale.
 */
import { f16DecodeTable } from '../float16.js';
import { offsetBits, ROUNDER, scaleBits } from './scale.js';

/** Quantizes consecutive groups of `size` values. Parameters are f16 bits, one per group; codes one byte each. */
export function quantizeAsymmetric(
  values: Float32Array,
  groups: number,
  size: number,
  bits: number,
  codes: Uint8Array,
  scales: Uint16Array,
  zeros: Uint16Array,
): void {
  const table = f16DecodeTable();
  // A local copy stays a constant when bundled.
  const rounder = ROUNDER;
  const largestCode = 2 ** bits - 1;
  const step = Math.fround(1 / largestCode);
  for (let group = 0, first = 0; group < groups; group++, first += size) {
    const end = first + size;
    let minimum = Number.POSITIVE_INFINITY;
    let maximum = Number.NEGATIVE_INFINITY;
    for (let i = first; i < end; i++) {
      const value = values[i] as number;
      if (value < minimum) minimum = value;
      if (value > maximum) maximum = value;
    }
    // Minimum and maximum ignore NaN; a group of nothing else has none. Only `nonFinite: mask` lets one come here.
    if (minimum > maximum) minimum = maximum = 0;
    const zeroBits = offsetBits(minimum);
    const zero = table[zeroBits] as number;
    // A zero that was rounded up can exceed the maximum: the range is then empty, never negative.
    const range = Math.max(Math.fround(maximum - zero), 0);
    const bitsOfScale = scaleBits(Math.fround(range * step));
    const scale = table[bitsOfScale] as number;
    zeros[group] = zeroBits;
    scales[group] = bitsOfScale;
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
