/**
 * The asymmetric quantizer for f16 groups at 2 and 4 bits, fused with packing: the same bytes as quantizeAsymmetric and
 * packCodes, several times faster.
 *
 * - Minimum and maximum are found on integers: flipping the magnitude bits of negative numbers makes the order of the
 *   bits the order of the values.
 * - The f16 minimum is the zero itself, so no difference is negative; the scale is within half an f16 step of
 *   range / largestCode, so no code exceeds largestCode. Nothing needs a clamp.
 * - A quotient is a product with 1 / scale, snapped to multiples of 2^-40. The product is off by less than 2^-48, and a
 *   quotient that is not a tie is at least 2^-26 away from one (difference and half scale are multiples of 2^-26 scale),
 *   so ties, and only ties, come out as ties.
 */
import { f16DecodeTable } from '../float16.js';
import { ROUNDER, scaleBits } from './scale.js';

/** Adding this to a double below 2^11 leaves a multiple of 2^-40. */
const SNAPPER = 6144;
const MINUS_ZERO = 0x8000;
const LARGEST_KEY = 0x7bff;
const SMALLEST_KEY = -0x7c00;

/** Parameters of the groups of one tile; f16 bits as they are stored, and the numbers the codes are made with. */
export class AsymmetricGroups {
  readonly scales: Uint16Array;
  readonly zeros: Uint16Array;
  /** f32 value of the zero. */
  readonly origins: Float32Array;
  /** 1 / scale, or 0 when the scale is 0. */
  readonly inverses: Float64Array;

  constructor(groups: number) {
    this.scales = new Uint16Array(groups);
    this.zeros = new Uint16Array(groups);
    this.origins = new Float32Array(groups);
    this.inverses = new Float64Array(groups);
  }
}

/**
 * Parameters of consecutive groups of `size` f16 values, two to a word of `tile`. False, and nothing of use, when a value
 * is not finite.
 */
export function measureAsymmetric(
  tile: Uint32Array,
  groups: number,
  size: number,
  bits: 2 | 4,
  result: AsymmetricGroups,
): boolean {
  const table = f16DecodeTable();
  const { scales, zeros, origins, inverses } = result;
  const step = Math.fround(1 / (2 ** bits - 1));
  const words = size / 2;
  let smallest = 0;
  let largest = 0;
  for (let group = 0, first = 0; group < groups; group++, first += words) {
    const end = first + words;
    let minimum = 0x7fff;
    let maximum = -0x8000;
    for (let i = first; i < end; i++) {
      const word = tile[i] as number;
      const low = (word << 16) >> 16;
      const high = word >> 16;
      const lowKey = low ^ ((low >> 15) & 0x7fff);
      const highKey = high ^ ((high >> 15) & 0x7fff);
      // Minimum and maximum without a branch: the sign of a difference is the mask. First the pair, then against the rest.
      const difference = lowKey - highKey;
      const swap = difference & (difference >> 31);
      const below = highKey + swap - minimum;
      minimum += below & (below >> 31);
      const above = maximum - (lowKey - swap);
      maximum -= above & (above >> 31);
    }
    if (minimum < smallest) smallest = minimum;
    if (maximum > largest) largest = maximum;
    // Parameters come in a loop of their own, so that their long chains of roundings overlap.
    zeros[group] = minimum ^ ((minimum >> 15) & 0x7fff);
    scales[group] = maximum ^ ((maximum >> 15) & 0x7fff);
  }
  if (smallest < SMALLEST_KEY || largest > LARGEST_KEY) return false;
  for (let group = 0; group < groups; group++) {
    const origin = table[zeros[group] as number] as number;
    const range = Math.fround((table[scales[group] as number] as number) - origin);
    const bitsOfScale = scaleBits(Math.fround(range * step));
    const scale = table[bitsOfScale] as number;
    if (zeros[group] === MINUS_ZERO) zeros[group] = 0;
    scales[group] = bitsOfScale;
    origins[group] = origin;
    inverses[group] = scale === 0 ? 0 : 1 / scale;
  }
  return true;
}

/** Codes of the groups as bytes: group i starts at `offset + i * stride`. `size` is a multiple of 4. */
export function packAsymmetric(
  tile: Uint32Array,
  groups: number,
  size: number,
  bits: 2 | 4,
  { origins, inverses }: AsymmetricGroups,
  page: Uint8Array,
  offset: number,
  stride: number,
): void {
  const table = f16DecodeTable();
  // ((quotient + SNAPPER) + TO_ROUNDER) is the rounded quotient plus ROUNDER. Local copies stay constants when bundled.
  const rounder = ROUNDER;
  const snapper = SNAPPER;
  const toRounder = ROUNDER - SNAPPER;
  const base = 2 ** bits;
  const square = base * base;
  const words = size / 2;
  for (let group = 0, first = 0; group < groups; group++, first += words) {
    const origin = origins[group] as number;
    const inverse = inverses[group] as number;
    const end = first + words;
    let to = offset + group * stride;
    for (let i = first; i < end; i += 2) {
      const low = tile[i] as number;
      const high = tile[i + 1] as number;
      const a = Math.fround((table[low & 0xffff] as number) - origin) * inverse;
      const b = Math.fround((table[low >>> 16] as number) - origin) * inverse;
      const c = Math.fround((table[high & 0xffff] as number) - origin) * inverse;
      const d = Math.fround((table[high >>> 16] as number) - origin) * inverse;
      const codes =
        a +
        snapper +
        toRounder -
        rounder +
        base * (b + snapper + toRounder - rounder) +
        square * (c + snapper + toRounder - rounder + base * (d + snapper + toRounder - rounder));
      const packed = codes | 0;
      page[to++] = packed;
      if (bits === 4) page[to++] = packed >> 8;
    }
  }
}
