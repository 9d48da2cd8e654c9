// Packs groups that a codec encodes: whole groups to a thread.
#pragma once
#include "general-codec.cuh"
#include "general-groups.cuh"

namespace lowbit {

LOWBIT_INLINE void encodeGroups(const GeneralJob& job, const GeneralTile& tile, unsigned char* page) {
  const GeneralTensor& tensor = job.tensor;
  unsigned char* block = page + static_cast<uint64_t>(tile.firstHead) * tensor.headBytes;
  const uint32_t first = parameterEntry(tensor, tile.firstSlot, 0);
  inAllThreads<GENERAL_THREADS>([&](uint32_t thread) {
    SplicedCodecs::use(tensor.codec, [&](auto codec) {
      using Codec = decltype(codec);
      LOWBIT_ROLLED
      for (uint32_t entry = thread; entry < tile.elements() / Codec::SIZE; entry += GENERAL_THREADS) {
        const GeneralGroup group = groupOf(tensor, entry);
        float values[Codec::SIZE];
        LOWBIT_ROLLED
        for (uint32_t i = 0; i < Codec::SIZE; ++i) values[i] = tile.at(group.first + i * group.stride);
        Codec::encode(values, block + (first + entry) * Codec::BYTES);
      }
    });
  });
}

}  // namespace lowbit
