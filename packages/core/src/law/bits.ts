/**
 * Code packing, docs/block-format.md 3: code j of a row sits at bit `bits * j`, little endian; rows and groups start on bytes.
 */

/** Packs `count` codes (each below 2^bits) into bytes from `offset` on; unused bits of the last byte are zero. */
export function packCodes(
  codes: Uint8Array,
  first: number,
  count: number,
  bits: number,
  bytes: Uint8Array,
  offset: number,
): void {
  let from = first;
  let to = offset;
  const end = first + count;
  if (bits === 4) {
    for (; from + 1 < end; from += 2)
      bytes[to++] = (codes[from] as number) | ((codes[from + 1] as number) << 4);
  } else if (bits === 2) {
    for (; from + 3 < end; from += 4) {
      bytes[to++] =
        (codes[from] as number) |
        ((codes[from + 1] as number) << 2) |
        ((codes[from + 2] as number) << 4) |
        ((codes[from + 3] as number) << 6);
    }
  } else if (bits === 8) {
    bytes.set(codes.subarray(first, end), offset);
    return;
  } else {
    // Eight codes fill `bits` bytes.
    for (; from + 7 < end; from += 8) {
      let low = 0;
      for (let j = 0; j < 8; j++) low |= (codes[from + j] as number) << (bits * j);
      for (let k = 0; k < bits; k++) bytes[to++] = (low >>> (8 * k)) & 255;
    }
  }
  let word = 0;
  let filled = 0;
  for (; from < end; from++) {
    word |= (codes[from] as number) << filled;
    filled += bits;
  }
  for (; filled > 0; filled -= 8, word >>>= 8) bytes[to++] = word & 255;
}

/** Unpacks `count` codes, starting with code `skip` of the row at `offset`. */
export function unpackCodes(
  bytes: Uint8Array,
  offset: number,
  skip: number,
  count: number,
  bits: number,
  codes: Uint8Array,
  first: number,
): void {
  const mask = 2 ** bits - 1;
  // Bits count from the row: those of a whole page can pass 2^32.
  let bit = skip * bits;
  let to = first;
  const end = first + count;
  if (bits <= 4 && (bit & 7) === 0) {
    // Eight codes fill `bits` bytes.
    for (let byte = offset + (bit >>> 3); to + 7 < end; to += 8, byte += bits, bit += 8 * bits) {
      let word = bytes[byte] as number;
      for (let k = 1; k < bits; k++) word |= (bytes[byte + k] as number) << (8 * k);
      for (let j = 0; j < 8; j++) codes[to + j] = (word >>> (bits * j)) & mask;
    }
  }
  for (; to < end; to++, bit += bits) {
    const byte = offset + (bit >>> 3);
    const word = (bytes[byte] as number) | ((bytes[byte + 1] ?? 0) << 8);
    codes[to] = (word >>> (bit & 7)) & mask;
  }
}
