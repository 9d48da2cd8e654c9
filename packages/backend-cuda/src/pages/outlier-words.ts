/**
 * Outliers of bands as attention takes them, words of 16 bits in place of canonical bytes: kernels/outlier-words.cuh.
 */
import type { PackedTensorPlan } from '@lowbit-kv/core';

/** Elements of a block of a tile. */
const PLACES = 1024;
/** In the first end offset of a head whose outliers are bytes. */
const BYTES_MARK = 0x8000;

/** Pages with words, and canonical ones. Of end offsets of two bytes. */
export interface OutlierWords {
  toCanonical(page: Uint8Array): Uint8Array;
  fromCanonical(block: Uint8Array): Uint8Array;
}

/** Pages of a plan whose outliers have bands. */
export function outlierWords(plan: PackedTensorPlan): OutlierWords {
  const { heads, headDim, tensor, layout } = plan;
  const { sparse, headBytes, blockTokens, codes } = layout;
  if (sparse === null) throw new TypeError('the tensor has no outliers of bands');
  const { endOffsets, entries } = sparse;
  const { chunks } = endOffsets;
  const own = headDim / 8;

  const placeOf = (token: number, channel: number) => {
    const inRow = tensor === 'value' ? (channel % own) * 8 + Math.floor(channel / own) : channel;
    return (token * headDim + (inRow ^ ((token % 8) * 8))) % PLACES;
  };
  const byteOf = (word: number) => {
    const place = (word >> 3) % PLACES;
    const inRow = (place % headDim) ^ ((Math.floor(place / headDim) % 8) * 8);
    const channel = tensor === 'value' ? (inRow % 8) * own + Math.floor(inRow / 8) : inRow;
    return ((word >> 14) << 6) | (channel & 63);
  };

  /** Calls a function with each head of a copy of a page. */
  const eachHead = (page: Uint8Array, change: (head: Uint8Array, view: DataView) => void) => {
    const changed = page.slice();
    for (let head = 0; head < heads; head++) {
      const piece = changed.subarray(head * headBytes, (head + 1) * headBytes);
      change(piece, new DataView(piece.buffer, piece.byteOffset, piece.byteLength));
    }
    return changed;
  };

  return {
    toCanonical: (page) =>
      eachHead(page, (head, view) => {
        const first = view.getUint16(endOffsets.offset, true);
        if ((first & BYTES_MARK) !== 0) {
          view.setUint16(endOffsets.offset, first & ~BYTES_MARK, true);
          return;
        }
        const half = entries.capacity >> 1;
        // Bytes lie before the words that are still to be read. What belongs to no token is cleared by whoever asks.
        for (let entry = 0; entry < half; entry++)
          head[entries.offset + entry] = byteOf(view.getUint16(entries.offset + 2 * entry, true));
        head.fill(0, entries.offset + half, entries.offset + entries.capacity);
      }),
    fromCanonical: (block) =>
      eachHead(block, (head, view) => {
        const ends = Array.from({ length: blockTokens * chunks }, (_, entry) =>
          view.getUint16(endOffsets.offset + 2 * entry, true),
        );
        if (Math.max(...ends) > entries.capacity >> 1) {
          view.setUint16(endOffsets.offset, (ends[0] as number) | BYTES_MARK, true);
          return;
        }
        const bytes = head.slice(entries.offset, entries.offset + Math.max(...ends));
        let entry = 0;
        for (const [run, end] of ends.entries()) {
          for (; entry < end; entry++) {
            const byte = bytes[entry] as number;
            const token = Math.floor(run / chunks);
            const channel = (run % chunks) * 64 + (byte & 63);
            const pair = head[codes.offset + token * codes.rowBytes + (channel >> 1)] as number;
            const nibble = (pair >> ((channel % 2) * 4)) & 15;
            const place = placeOf(token, channel);
            const word = ((byte >> 6) << 14) | ((nibble >> 3) << 13) | (place << 3) | (nibble & 7);
            view.setUint16(entries.offset + 2 * entry, word, true);
          }
        }
      }),
  };
}
