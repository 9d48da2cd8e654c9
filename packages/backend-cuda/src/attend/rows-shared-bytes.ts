/**
 * Shared memory of kernels for several query tokens, as Rows of kernels/rows.cuh has it.
 */
import type { RowsInstance } from '../instances.js';
import { BARRIER_BYTES, PAGE_TOKENS } from './structs.js';

/** Rows of a tile. */
export const TILE_ROWS = 16;
const F16_BYTES = 2;
const F32_BYTES = 4;

/**
 * Pages and barriers of warps, rows of their own where scales are folded once a page, rows and what they were divided by. `pieces`:
 * bytes of the keys and the values of a page of one head.
 */
export function rowsSharedBytes(
  { rows, headDim, key }: RowsInstance,
  warps: number,
  pieces: number,
): number {
  const rowBytes = F16_BYTES * headDim * rows;
  const isFoldedOnce = key.groupSize === PAGE_TOKENS && rows > TILE_ROWS;
  const own = pieces + BARRIER_BYTES + (isFoldedOnce ? rowBytes : 0);
  return warps * own + rowBytes + F32_BYTES * rows;
}
