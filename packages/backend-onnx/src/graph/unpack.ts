/**
 * Canonical bytes of a block to codes and numbers: code j of a row sits at bit `bits * j`, numbers are little endian.
 */
import type { Value } from './builder.js';
import type { Operations } from './operations.js';

/** uint8 `[blocks, heads, bytes]` of the head blocks of whole pages `[blocks, pageBytes]`. */
export function headBlocks(
  o: Operations,
  pages: Value,
  layout: { readonly heads: number; readonly headBytes: number },
): Value {
  const { heads, headBytes } = layout;
  return o.reshape(o.slice(pages, 1, 0, heads * headBytes), [0, heads, headBytes]);
}

/**
 * uint8 rows `[blocks, heads, rows, rowBytes]` to codes `[blocks, heads, rows, count]` as f32. A table lists the codes of
 * every byte (of every 12 bits for 3-bit codes): one look-up costs less than a shift and a mask per code.
 */
export function unpackCodes(
  o: Operations,
  rows: Value,
  shape: { readonly rowCount: number; readonly rowBytes: number; readonly heads: number },
  count: number,
  bits: number,
): Value {
  const { heads, rowCount, rowBytes } = shape;
  const wordBytes = bits === 3 ? 3 : 1;
  const wordCodes = (wordBytes * 8) / bits;
  const words = Math.ceil(count / wordCodes);
  const used =
    words * wordBytes <= rowBytes
      ? o.slice(rows, 3, 0, words * wordBytes)
      : o.padEnd(rows, 4, 3, words * wordBytes - rowBytes);
  if (bits === 8) return o.cast(used, 'float32');
  let keys = o.cast(used, 'int32');
  if (bits === 3) {
    const word = littleEndian(o, o.reshape(used, [0, heads, rowCount, words, 3]), 4, 3);
    keys = o.concat([o.bitAnd(word, 0xfff), o.divide(word, 0x1000)], 4);
  }
  const codes = o.gather(codeTable(o, bits === 3 ? 12 : 8, bits), keys, 0);
  const flat = o.reshape(codes, [0, heads, rowCount, words * wordCodes]);
  return words * wordCodes === count ? flat : o.slice(flat, 3, 0, count);
}

/** f32 `[2^width, width / bits]`: the codes in every pattern of `width` bits. */
function codeTable(o: Operations, width: number, bits: number): Value {
  const codes = width / bits;
  const table: number[] = [];
  for (let pattern = 0; pattern < 2 ** width; pattern++) {
    for (let j = 0; j < codes; j++) table.push((pattern >>> (j * bits)) & (2 ** bits - 1));
  }
  return o.graph.constant('float32', table, [2 ** width, codes]);
}

/** int32 numbers (of four bytes: two's complement) from `bytes` uint8 along `axis`, which stays with length 1. */
export function littleEndian(o: Operations, values: Value, axis: number, bytes: number): Value {
  let sum = o.cast(o.slice(values, axis, 0, 1), 'int32');
  for (let i = 1; i < bytes; i++) {
    const byte = o.cast(o.slice(values, axis, i, i + 1), 'int32');
    const signed = i < 3 ? byte : o.select(o.atLeast(byte, 128), o.subtract(byte, 256), byte);
    sum = o.add(sum, o.multiply(signed, 256 ** i));
  }
  return sum;
}

/** int32 `[blocks, vectors, count]`: numbers of `bytes` bytes from a byte offset of uint8 `[blocks, vectors, size]`. */
export function numbersAt(
  o: Operations,
  source: Value,
  place: {
    readonly offset: number;
    readonly count: number;
    readonly bytes: number;
    readonly vectors: number;
  },
): Value {
  const { offset, count, bytes, vectors } = place;
  const plane = o.slice(source, 2, offset, offset + count * bytes);
  const split = o.reshape(plane, [0, vectors, count, bytes]);
  return o.reshape(littleEndian(o, split, 3, bytes), [0, vectors, count]);
}
