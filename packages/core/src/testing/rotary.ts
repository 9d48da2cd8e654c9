/**
 * The rotary embedding over plain arrays, written to be read: what the tests compare core's with.
 */
import type { RotaryEmbedding } from '../geometry.js';
import { checkInteger, checkLength } from './check.js';

export interface KeyShape {
  readonly tokens: number;
  readonly kvHeads: number;
  readonly keyDim: number;
}

/** Keys `[tokens, kvHeads, keyDim]` rotated to positions 0, 1, 2, ... */
export function rotateKeys(
  keys: ArrayLike<number>,
  { tokens, kvHeads, keyDim }: KeyShape,
  { pairs, frequencies }: RotaryEmbedding,
): Float64Array {
  checkInteger('tokens', tokens, 0);
  checkInteger('kvHeads', kvHeads, 1);
  checkInteger('keyDim', keyDim, 2 * frequencies.length);
  checkLength('keys', keys, tokens * kvHeads * keyDim, '[tokens, kvHeads, keyDim]');
  const turned = Float64Array.from(keys);
  for (let row = 0; row < tokens * kvHeads; row++) {
    const position = Math.floor(row / kvHeads);
    for (const [pair, frequency] of frequencies.entries()) {
      const x = row * keyDim + (pairs === 'halves' ? pair : 2 * pair);
      const y = pairs === 'halves' ? x + frequencies.length : x + 1;
      // The pair as a complex number, by its length and direction.
      const length = Math.hypot(keys[x] as number, keys[y] as number);
      const direction = Math.atan2(keys[y] as number, keys[x] as number) + position * frequency;
      turned[x] = length * Math.cos(direction);
      turned[y] = length * Math.sin(direction);
    }
  }
  return turned;
}
