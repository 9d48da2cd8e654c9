// Outliers of bands as attention takes them (bands.cuh): words of 16 bits where canonical bytes would be, in the same order.
//
//   bit   15 14        13          12 .. 3   2 .. 0
//         kind         low         place     magnitude
//
// kind: bits 7 and 6 of the canonical byte. Low, magnitude: bit 3 and bits 2 to 0 of the nibble among the codes. Place: where the
// element lies in a tile of attention, of which 1024 elements are a block.
//
// A head of a page has words while they take no more room than canonical bytes may, so pages are no larger; when an append needs more,
// what it has becomes bytes, and its first end offset is marked.
#pragma once
#include "halves.cuh"

namespace lowbit {

/// How a tensor keeps its outliers: always as bytes, or as words of keys or of values.
enum class OutlierOrder : uint32_t { BYTES, KEY, VALUE };

/// Elements of a block of a tile.
constexpr uint32_t PLACES = 1024;
/// In the first end offset of a head whose outliers are bytes although its tensor has words.
constexpr uint32_t BYTES_MARK = 0x8000;

/// Place of an element. Values: channel DIM / 8 g + i lies at 8 i + g, so that lanes get those that they have sums of. Chunks of eight
/// are turned by their token, so that ldmatrix meets no bank twice.
LOWBIT_INLINE uint32_t outlierPlace(uint32_t dim, OutlierOrder order, uint32_t token, uint32_t channel) {
  const uint32_t own = dim / 8;
  const uint32_t inRow = order == OutlierOrder::VALUE ? channel % own * 8 + channel / own : channel;
  return (token * dim + (inRow ^ token % 8 * 8)) % PLACES;
}

LOWBIT_INLINE uint32_t outlierWord(uint32_t place, uint32_t byte, uint32_t nibble) {
  return byte >> 6 << 14 | (nibble & 8) << 10 | place << 3 | (nibble & 7);
}

/// The canonical byte of a word.
LOWBIT_INLINE uint32_t outlierByte(uint32_t dim, OutlierOrder order, uint32_t word) {
  const uint32_t place = word >> 3 & (PLACES - 1), own = dim / 8;
  const uint32_t inRow = place % dim ^ place / dim % 8 * 8;
  const uint32_t channel = order == OutlierOrder::VALUE ? inRow % 8 * own + inRow / 8 : inRow;
  return word >> 14 << 6 | (channel & 63);
}

}  // namespace lowbit
