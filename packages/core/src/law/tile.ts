/**
 * Tiles: the tokens of one head, group after group, as a quantizer wants them.
 */
import { f16DecodeTable } from '../float16.js';

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

/** Widens to f32 into `tile`; with `reciprocals` (f16 bits `[heads, headDim]`) each channel is multiplied by its own. */
export function loadValues(
  source: TileSource,
  reciprocals: Uint16Array | null,
  tile: Float32Array,
): void {
  const { tokens, heads, headDim, first, count, head, channelMajor } = source;
  const table = f16DecodeTable();
  const channelStride = channelMajor ? count : 1;
  const tokenStride = channelMajor ? 1 : headDim;
  for (let token = 0; token < count; token++) {
    let from = ((first + token) * heads + head) * headDim;
    let to = token * tokenStride;
    if (reciprocals === null) {
      for (let channel = 0; channel < headDim; channel++, to += channelStride)
        tile[to] = table[tokens[from++] as number] as number;
    } else {
      for (let channel = 0; channel < headDim; channel++, to += channelStride) {
        const factor = table[reciprocals[head * headDim + channel] as number] as number;
        tile[to] = (table[tokens[from++] as number] as number) * factor;
      }
    }
  }
}
