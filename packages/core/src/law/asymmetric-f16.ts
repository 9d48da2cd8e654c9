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
 *
 * There is one kernel with one set of scratch arrays: arrays that are constants of a closure are addressed as constants in
 * compiled code, which was worth a seventh of the time. Calls are synchronous, so nothing is shared between two of them.
 */
import { f16DecodeTable } from '../float16.js';
import { ROUNDER, scaleBits } from './scale.js';
import type { TileSource } from './tile.js';

/** Elements a tile may have. */
export const KERNEL_ELEMENTS = 32768;
/** Adding this to a double below 2^11 leaves a multiple of 2^-40. */
const SNAPPER = 6144;
const MINUS_ZERO = 0x8000;
const LARGEST_KEY = 0x7bff;
const SMALLEST_KEY = -0x7c00;

export interface AsymmetricKernel {
  /** Takes a tile in; `headDim` is even, and so is `count` when channelMajor. */
  load(source: TileSource): void;
  /** Output of `measure`: f16 bits, one per group. */
  readonly scales: Uint16Array;
  readonly zeros: Uint16Array;
  /** Parameters of consecutive groups of the tile; `size` is a multiple of 4. False when a value is not finite. */
  measure(groups: number, size: number, bits: 2 | 4): boolean;
  /** Codes of the measured groups as bytes: group i starts at `offset + i * groupBytes`. */
  pack(
    groups: number,
    size: number,
    bits: 2 | 4,
    page: Uint8Array,
    offset: number,
    groupBytes: number,
  ): void;
}

let kernel: AsymmetricKernel | undefined;

/** The kernel, made on first use. */
export function asymmetricKernel(): AsymmetricKernel {
  kernel ??= createKernel();
  return kernel;
}

function createKernel(): AsymmetricKernel {
  const table = f16DecodeTable();
  /** The tile, two f16 bit patterns to a word, the first in the low half. */
  const words = new Uint32Array(KERNEL_ELEMENTS / 2);
  const scales = new Uint16Array(KERNEL_ELEMENTS / 4);
  const zeros = new Uint16Array(KERNEL_ELEMENTS / 4);
  /** f32 value of the zero, and 1 / scale or 0 for a scale of 0. */
  const origins = new Float32Array(KERNEL_ELEMENTS / 4);
  const inverses = new Float64Array(KERNEL_ELEMENTS / 4);
  const rounder = ROUNDER;
  const snapper = SNAPPER;
  const toRounder = ROUNDER - SNAPPER;

  function load({ tokens, heads, headDim, first, count, head, channelMajor }: TileSource): void {
    const tokenStride = heads * headDim;
    const start = (first * heads + head) * headDim;
    if (channelMajor) {
      const channelStride = count >> 1;
      for (let token = 0; token < count; token += 2) {
        let from = start + token * tokenStride;
        let to = token >> 1;
        for (const end = from + headDim; from < end; from++, to += channelStride)
          words[to] = (tokens[from] as number) | ((tokens[from + tokenStride] as number) << 16);
      }
    } else {
      for (let token = 0, to = 0; token < count; token++) {
        let from = start + token * tokenStride;
        for (const end = from + headDim; from < end; from += 2)
          words[to++] = (tokens[from] as number) | ((tokens[from + 1] as number) << 16);
      }
    }
  }

  function measure(groups: number, size: number, bits: 2 | 4): boolean {
    const step = Math.fround(1 / (2 ** bits - 1));
    const wordsPerGroup = size >> 1;
    let smallest = 0;
    let largest = 0;
    for (let group = 0, first = 0; group < groups; group++, first += wordsPerGroup) {
      const end = first + wordsPerGroup;
      let minimum = 0x7fff;
      let maximum = -0x8000;
      for (let i = first; i < end; i++) {
        const word = words[i] as number;
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

  function pack(
    groups: number,
    size: number,
    bits: 2 | 4,
    page: Uint8Array,
    offset: number,
    groupBytes: number,
  ): void {
    const base = 2 ** bits;
    const square = base * base;
    const wordsPerGroup = size >> 1;
    for (let group = 0, first = 0; group < groups; group++, first += wordsPerGroup) {
      const origin = origins[group] as number;
      const inverse = inverses[group] as number;
      const end = first + wordsPerGroup;
      let to = offset + group * groupBytes;
      for (let i = first; i < end; i += 2) {
        const low = words[i] as number;
        const high = words[i + 1] as number;
        const a = Math.fround((table[low & 0xffff] as number) - origin) * inverse;
        const b = Math.fround((table[low >>> 16] as number) - origin) * inverse;
        const c = Math.fround((table[high & 0xffff] as number) - origin) * inverse;
        const d = Math.fround((table[high >>> 16] as number) - origin) * inverse;
        // quotient + snapper + toRounder is the rounded quotient plus rounder.
        const ab = a + snapper + toRounder - rounder + base * (b + snapper + toRounder - rounder);
        const cd = c + snapper + toRounder - rounder + base * (d + snapper + toRounder - rounder);
        const codes = (ab + square * cd) | 0;
        page[to++] = codes;
        if (bits === 4) page[to++] = codes >> 8;
      }
    }
  }

  return { scales, zeros, load, measure, pack };
}
