/**
 * Tiles: the tokens of one head, group after group, as a quantizer wants them.
 */
import { f16DecodeTable } from '../float16.js';
import type { TakeOutliers } from './top-outliers.js';
import type { Transforms } from './transforms.js';

/** Where a tile comes from: `count` tokens from `first` on of one head of f16 bits `[tokens, heads, headDim]`. */
export interface TileSource {
  readonly tokens: Uint16Array;
  readonly heads: number;
  readonly headDim: number;
  readonly first: number;
  readonly count: number;
  readonly head: number;
  /** `[channel, token]` when true, else `[token, channel]`. */
  readonly channelMajor: boolean;
}

/** Widens to f32 into `tile`, transforms each token, and takes the outliers out of it; the first goes to `slot`. */
export function loadValues(
  source: TileSource,
  transforms: Transforms | null,
  tile: Float32Array,
  take?: TakeOutliers,
  slot = 0,
): void {
  const { tokens, heads, headDim, first, count, head, channelMajor } = source;
  const table = f16DecodeTable();
  const row = channelMajor ? new Float32Array(headDim) : tile;
  for (let token = 0; token < count; token++) {
    let from = ((first + token) * heads + head) * headDim;
    const at = channelMajor ? 0 : token * headDim;
    for (let to = at; to < at + headDim; to++) row[to] = table[tokens[from++] as number] as number;
    transforms?.apply(row, at, head);
    take?.(row, at, slot + token);
    if (!channelMajor) continue;
    for (let channel = 0, to = token; channel < headDim; channel++, to += count)
      tile[to] = row[channel] as number;
  }
}
