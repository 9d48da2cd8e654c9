/**
 * Top outliers, docs/law.md 6: the `count` largest magnitudes of each token of a head stay f16 beside the codes, and are no
 * members of their groups.
 */
import { f16DecodeTable } from '../float16.js';
import type { BlockLayout, TopPlane } from '../plan/layout.js';
import { readNumber, readU16, writeNumber, writeU16 } from './page-bytes.js';
import { offsetBits } from './scale.js';

/** Takes the outliers out of a transformed token: `headDim` values of `row` from `at` on. */
export type TakeOutliers = (row: Float32Array, at: number, slot: number) => void;

/** Writes the outliers of one head into `page` and leaves NaN in their place. */
export function outlierTaker(
  { headDim, headBytes }: BlockLayout,
  { count, values, channels }: TopPlane,
  page: Uint8Array,
  head: number,
): TakeOutliers {
  const base = head * headBytes;
  const ranks = new Uint32Array(headDim);
  const bits = new Uint32Array(1);
  const float = new Float32Array(bits.buffer);
  return (row, at, slot) => {
    for (let channel = 0; channel < headDim; channel++) {
      float[0] = row[at + channel] as number;
      const magnitude = (bits[0] as number) & 0x7fffffff;
      // Magnitudes rank as their bits do; what is not finite comes last.
      ranks[channel] = magnitude >= 0x7f800000 ? 0 : magnitude + 1;
    }
    const least = ranks.slice().sort()[headDim - count] as number;
    let ties = count;
    for (const rank of ranks) if (rank > least) ties--;
    let entry = slot * count;
    for (let channel = 0; channel < headDim; channel++) {
      const rank = ranks[channel] as number;
      if (rank < least || (rank === least && ties-- <= 0)) continue;
      const value = row[at + channel] as number;
      row[at + channel] = Number.NaN;
      writeU16(page, base + values.offset + 2 * entry, Number.isNaN(value) ? 0 : offsetBits(value));
      const place = base + channels.offset + channels.entryBytes * entry++;
      writeNumber(page, place, channels.entryBytes, channel);
    }
  };
}

/** Puts the outliers of `count` tokens of a head into their decoded values `[count, headDim]`. */
export function restoreOutliers(
  { headDim, headBytes }: BlockLayout,
  top: TopPlane,
  page: Uint8Array,
  head: number,
  slot: number,
  count: number,
  output: Float32Array,
): void {
  const table = f16DecodeTable();
  const base = head * headBytes;
  const { entryBytes } = top.channels;
  for (let token = 0; token < count; token++) {
    const first = (slot + token) * top.count;
    for (let entry = first; entry < first + top.count; entry++) {
      const place = base + top.channels.offset + entryBytes * entry;
      const bits = readU16(page, base + top.values.offset + 2 * entry);
      const channel = readNumber(page, place, entryBytes);
      output[token * headDim + channel] = table[bits] as number;
    }
  }
}
