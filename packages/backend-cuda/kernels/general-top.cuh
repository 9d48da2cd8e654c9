// Top outliers leave their groups: core's docs/law.md, section 6.
#pragma once
#include "general-tile.cuh"

namespace lowbit {

LOWBIT_INLINE void setBits(uint32_t* word, uint32_t bits) {
#if defined(__CUDA_ARCH__)
  atomicOr(word, bits);
#else
  *word |= bits;
#endif
}

LOWBIT_INLINE uint32_t countBits(uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return static_cast<uint32_t>(__popc(bits));
#else
  return static_cast<uint32_t>(__builtin_popcount(bits));
#endif
}

/// Rises with the magnitude; what is not finite comes last.
LOWBIT_INLINE uint32_t rankOf(float value) {
  const uint32_t magnitude = bitsOf(value) & 0x7fffffff;
  return magnitude >= 0x7f800000 ? 0 : magnitude + 1;
}

/// Writes the outliers of each row to the page and leaves NaN in their place.
LOWBIT_INLINE void takeTopOutliers(const GeneralJob& job, const GeneralTile& tile, unsigned char* page) {
  const GeneralTensor& tensor = job.tensor;
  // A bit for each channel of a row.
  auto* bits = reinterpret_cast<uint32_t*>(tile.others(job));
  const uint32_t words = (tile.dim + 31) / 32;
  inAllThreads<GENERAL_THREADS>([&](uint32_t thread) {
    LOWBIT_ROLLED
    for (uint32_t i = thread; i < tile.rows() * words; i += GENERAL_THREADS) bits[i] = 0;
  });
  inAllThreads<GENERAL_THREADS>([&](uint32_t thread) {
    tile.each(thread, [&](uint32_t row, uint32_t channel) {
      const uint32_t first = row * tile.dim;
      const uint32_t rank = rankOf(tile.at(first + channel));
      uint32_t before = 0;
      LOWBIT_ROLLED
      for (uint32_t other = 0; other < tile.dim; ++other) {
        const uint32_t otherRank = rankOf(tile.at(first + other));
        before += otherRank > rank || (otherRank == rank && other < channel) ? 1 : 0;
      }
      if (before < tensor.topCount) setBits(&bits[row * words + channel / 32], 1u << channel % 32);
    });
  });
  inAllThreads<GENERAL_THREADS>([&](uint32_t thread) {
    tile.each(thread, [&](uint32_t row, uint32_t channel) {
      const uint32_t* own = bits + row * words;
      const uint32_t bit = 1u << channel % 32;
      if ((own[channel / 32] & bit) == 0) return;
      uint32_t place = countBits(own[channel / 32] & (bit - 1));
      LOWBIT_ROLLED
      for (uint32_t word = 0; word < channel / 32; ++word) place += countBits(own[word]);
      const uint32_t slot = tile.firstSlot + row / tile.heads;
      const uint32_t entry = slot * tensor.topCount + place;
      unsigned char* block = page + static_cast<uint64_t>(tile.firstHead + row % tile.heads) * tensor.headBytes;
      float& value = tile.at(row * tile.dim + channel);
      store(block + tensor.topValuesOffset, StoredType::F16, entry, value != value ? 0 : storedOffset(value));
      if (tensor.topChannelBytes == 1) block[tensor.topChannelsOffset + entry] = static_cast<unsigned char>(channel);
      else store(block + tensor.topChannelsOffset, StoredType::F16, entry, channel);
      value = floatOf(0x7fc00000);
    });
  });
}

}  // namespace lowbit
