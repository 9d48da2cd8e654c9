/**
 * Logits of keys that are held before the rotary embedding: transforms do not commute with it, so each key is restored
 * and rotated to its position before it meets the (rotated) queries.
 */
import type { DecodedTile, HeadAttention } from './attention.js';
import { type Columns, columnOf, logitOf, type Visible } from './attention-columns.js';
import type { RotaryRotation } from './rotary.js';

/** Writes the logits of all rows (`query` is `[rows, keyHeadDim]`) with the tokens of a tile, where they are visible. */
export function preRopeTile(
  { geometry, kvHead, keyTransforms }: HeadAttention,
  rotary: RotaryRotation,
  tile: DecodedTile,
  rows: number,
  query: Float64Array,
  logits: Float64Array,
  layout: Columns,
  visible: Visible,
): void {
  const dim = geometry.keyHeadDim;
  const key = new Float64Array(dim);
  for (let token = 0; token < tile.count; token++) {
    const position = tile.position + token;
    const column = columnOf(position, layout);
    if (column < 0) continue;
    const first = tile.offset + token * dim;
    key.set(tile.values.subarray(first, first + dim));
    if (tile.transformed) keyTransforms?.invert(key, 0, kvHead, 1);
    rotary.rotate(key, 0, position);
    for (let row = 0; row < rows; row++) {
      if (!visible(row, position)) continue;
      let dot = 0;
      for (let c = 0, q = row * dim; c < dim; c++)
        dot += (query[q++] as number) * (key[c] as number);
      logits[row * layout.columns + column] = logitOf(dot, geometry);
    }
  }
}
