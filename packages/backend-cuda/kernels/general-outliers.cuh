// The bytes of the outliers of bands: core's docs/block-format.md, section 5. A CTA takes a head of a pack, whose rows are in the
// scratch: where its bytes go depends on all slots before them.
#pragma once
#include "general-bands.cuh"

namespace lowbit {

LOWBIT_INLINE void takeSmallest(uint32_t* word, uint32_t number) {
#if defined(__CUDA_ARCH__)
  atomicMin(word, number);
#else
  if (number < *word) *word = number;
#endif
}

/// Rows of the scratch that another launch left.
struct ScratchRows {
  const GeneralJob& job;
  uint32_t number;

  /// The tile that holds a token, counted in the pack, of a head.
  LOWBIT_INLINE GeneralTile tileAt(uint32_t head, uint32_t token) const {
    float* values = tileMemory(job, nullptr, token / job.runTokens, head / job.tileHeads, number);
    return GeneralTile{values, 0, 0, job.runTokens, job.tileHeads, job.tensor.headDim};
  }

  LOWBIT_INLINE float at(uint32_t head, uint32_t token, uint32_t channel) const {
    const GeneralTile tile = tileAt(head, token);
    return tile.at((token % job.runTokens * tile.heads + head % tile.heads) * tile.dim + channel);
  }
};

/// Inclusive sums of `parts[0]`, which end in `parts[result]`.
LOWBIT_INLINE uint32_t scanParts(GeneralShared& shared) {
  uint32_t from = 0;
  LOWBIT_ROLLED
  for (uint32_t stride = 1; stride < GENERAL_THREADS; stride *= 2) {
    inAllThreads<GENERAL_THREADS>([&](uint32_t thread) {
      const uint32_t* parts = shared.parts[from];
      shared.parts[1 - from][thread] = parts[thread] + (thread >= stride ? parts[thread - stride] : 0);
    });
    from = 1 - from;
  }
  return from;
}

LOWBIT_INLINE void writeEnd(const GeneralTensor& tensor, unsigned char* block, uint32_t entry, uint32_t end) {
  store(block + tensor.endsOffset, tensor.endBytes == 2 ? StoredType::F16 : StoredType::F32, entry, end);
}

LOWBIT_INLINE uint32_t readEnd(const GeneralTensor& tensor, const unsigned char* block, uint32_t entry) {
  return loadStored(block + tensor.endsOffset, tensor.endBytes == 2 ? StoredType::F16 : StoredType::F32, entry);
}

/// Grid: (heads, packs).
LOWBIT_INLINE void writeOutliers(const GeneralJob& job, GeneralShared& shared, uint32_t head, uint32_t number) {
  const GeneralTensor& tensor = job.tensor;
  const Pack pack(job.commands, job.firstPack + number, 0);
  const ScratchRows rows{job, number};
  unsigned char* block = pack.piece + static_cast<uint64_t>(head) * tensor.headBytes;
  const unsigned char* parameters = pack.piece + parameterBase(tensor, head);
  const uint32_t firstEntry = pack.slot * tensor.chunks;
  const uint32_t entries = pack.count * tensor.chunks;
  // Calls a function with the channels of an entry that are outliers, and their values.
  const auto eachOutlier = [&](uint32_t entry, auto function) {
    const uint32_t token = entry / tensor.chunks;
    const uint32_t first = entry % tensor.chunks * OUTLIER_CHUNK;
    const uint32_t left = tensor.headDim - first;
    const uint32_t width = left < OUTLIER_CHUNK ? left : OUTLIER_CHUNK;
    LOWBIT_ROLLED
    for (uint32_t i = 0; i < width; ++i) {
      const float value = rows.at(head, token, first + i);
      if (bandOf(tensor, value) != Band::MIDDLE) function(i, value);
    }
  };
  uint32_t before = pack.slot == 0 ? 0 : readEnd(tensor, block, firstEntry - 1);
  LOWBIT_ROLLED
  for (uint32_t strip = 0; strip < entries; strip += GENERAL_THREADS) {
    inAllThreads<GENERAL_THREADS>([&](uint32_t thread) {
      uint32_t count = 0;
      if (strip + thread < entries) eachOutlier(strip + thread, [&](uint32_t, float) { ++count; });
      shared.parts[0][thread] = count;
    });
    const uint32_t* ends = shared.parts[scanParts(shared)];
    inAllThreads<GENERAL_THREADS>([&](uint32_t thread) {
      const uint32_t entry = strip + thread;
      if (entry >= entries) return;
      const BandSteps steps(tensor, parameters, pack.slot + entry / tensor.chunks);
      const uint32_t first = before + (thread == 0 ? 0 : ends[thread - 1]);
      uint32_t end = first < tensor.capacity ? first : tensor.capacity;
      eachOutlier(entry, [&](uint32_t index, float value) {
        if (end == tensor.capacity) {
          takeSmallest(job.fault, job.faultNumber * 65536 + head);
          return;
        }
        const bool outer = bandOf(tensor, value) == Band::OUTER;
        const int fifth = bandCode(tensor, steps, value) >> 4;
        block[tensor.outliersOffset + end++] = static_cast<unsigned char>(index | (outer ? 64 : 0) | fifth << 7);
      });
      writeEnd(tensor, block, firstEntry + entry, end);
    });
    before += ends[GENERAL_THREADS - 1];
    // The next strip writes what this one read.
    inAllThreads<GENERAL_THREADS>([](uint32_t) {});
  }
}

}  // namespace lowbit
