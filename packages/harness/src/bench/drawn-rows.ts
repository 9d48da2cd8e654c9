/**
 * Keys, values and queries that benchmarks draw: near normal, f16, the same in every run.
 */
import { lcgNormal } from '@lowbit-kv/core/testing';

/** Rows that are drawn; more of them repeat these. */
const DRAWN_ROWS = 2048;

/** f16 `[rows, heads, headDim]`. */
export function drawnRows(recipe: {
  readonly rows: number;
  readonly heads: number;
  readonly headDim: number;
  readonly seed: number;
}): Uint16Array {
  const { rows, heads, headDim, seed } = recipe;
  const width = heads * headDim;
  const shape = [Math.min(rows, DRAWN_ROWS), heads, headDim];
  const drawn = lcgNormal({ seed, shape, dtype: 'f16' });
  const all = new Uint16Array(rows * width);
  for (let first = 0; first < all.length; first += drawn.length)
    all.set(drawn.subarray(0, all.length - first), first);
  return all;
}
