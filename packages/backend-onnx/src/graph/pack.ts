/**
 * Codes to canonical bytes: code j of a row sits at bit `bits * j`, little endian; unused bits are zero.
 */
import type { Value } from './builder.js';
import type { Operations } from './operations.js';

/**
 * int32 codes `[...rows, count]` below 2^bits to uint8 `[...rows, ceil(count * bits / 8)]`. One of the two dimensions
 * `rows` may be -1 (dynamic), or `count` may, which then fills whole bytes.
 */
export function packCodes(
  o: Operations,
  codes: Value,
  rows: readonly [number, number],
  count: number,
  bits: number,
): Value {
  if (bits === 8) return o.cast(codes, 'uint8');
  // A word is the smallest run of codes that fills whole bytes.
  const wordCodes = bits === 3 ? 8 : 8 / bits;
  const words = count < 0 ? -1 : Math.ceil(count / wordCodes);
  const padded = count < 0 ? codes : o.padEnd(codes, 3, 2, words * wordCodes - count);
  const places = Array.from({ length: wordCodes }, (_, j) => 2 ** (bits * j));
  const placed = o.multiply(
    o.reshape(padded, [...rows, words, wordCodes]),
    o.graph.constant('int32', places),
  );
  if (bits !== 3) return o.cast(o.reduceSum(placed, [3], false), 'uint8');
  const word = o.cast(o.reduceSum(placed, [3]), 'uint32');
  const shifts = o.graph.constant('uint32', [0, 8, 16]);
  const bytes = o.cast(o.bitAnd(o.shiftRight(word, shifts), 255), 'uint8');
  const packed = o.reshape(bytes, [...rows, count < 0 ? -1 : words * 3]);
  return count < 0 ? packed : o.slice(packed, 2, 0, Math.ceil((count * bits) / 8));
}
