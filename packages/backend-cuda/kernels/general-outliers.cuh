// The outliers of bands: canonical bytes (core's docs/block-format.md, section 5), or words (outlier-words.cuh). A CTA takes a head of
// a pack, whose rows are in the scratch: where its outliers go depends on all slots before them.
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

/// `free`: words of the threads that nothing else needs.
LOWBIT_INLINE void wordsToBytes(const GeneralTensor& tensor, unsigned char* block, uint32_t count, uint32_t* free) {
  unsigned char* outliers = block + tensor.outliersOffset;
  LOWBIT_ROLLED
  for (uint32_t first = 0; first < count; first += GENERAL_THREADS) {
    inAllThreads<GENERAL_THREADS>([&](uint32_t thread) {
      const uint32_t entry = first + thread;
      if (entry < count) free[thread] = outlierByte(tensor.headDim, tensor.outlierOrder, loadStored(outliers, StoredType::F16, entry));
    });
    // Bytes lie before the words that are still to be read.
    inAllThreads<GENERAL_THREADS>([&](uint32_t thread) {
      if (first + thread < count) outliers[first + thread] = static_cast<unsigned char>(free[thread]);
    });
  }
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
  const bool mayHaveWords = tensor.outlierOrder != OutlierOrder::BYTES;
  const uint32_t firstEnd = pack.slot == 0 ? 0 : readEnd(tensor, block, 0);
  bool hasBytes = !mayHaveWords || (firstEnd & BYTES_MARK) != 0;
  uint32_t before = pack.slot == 0 ? 0 : readEnd(tensor, block, firstEntry - 1);
  if (mayHaveWords) before &= BYTES_MARK - 1;
  LOWBIT_ROLLED
  for (uint32_t strip = 0; strip < entries; strip += GENERAL_THREADS) {
    inAllThreads<GENERAL_THREADS>([&](uint32_t thread) {
      uint32_t count = 0;
      if (strip + thread < entries) eachOutlier(strip + thread, [&](uint32_t, float) { ++count; });
      shared.parts[0][thread] = count;
    });
    const uint32_t result = scanParts(shared);
    const uint32_t* ends = shared.parts[result];
    if (!hasBytes && before + ends[GENERAL_THREADS - 1] > tensor.capacity / 2) {
      hasBytes = true;
      wordsToBytes(tensor, block, before, shared.parts[1 - result]);
      inAllThreads<GENERAL_THREADS>([&](uint32_t thread) {
        if (thread == 0 && firstEntry + strip > 0) writeEnd(tensor, block, 0, readEnd(tensor, block, 0) | BYTES_MARK);
      });
    }
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
        const int code = bandCode(tensor, steps, value);
        const uint32_t byte = index | (outer ? 64u : 0u) | static_cast<uint32_t>(code >> 4) << 7;
        if (hasBytes) {
          block[tensor.outliersOffset + end++] = static_cast<unsigned char>(byte);
          return;
        }
        const uint32_t channel = entry % tensor.chunks * OUTLIER_CHUNK + index;
        const uint32_t place = outlierPlace(tensor.headDim, tensor.outlierOrder, pack.slot + entry / tensor.chunks, channel);
        store(block + tensor.outliersOffset, StoredType::F16, end++, outlierWord(place, byte, static_cast<uint32_t>(code)));
      });
      const uint32_t mark = mayHaveWords && hasBytes && firstEntry + entry == 0 ? BYTES_MARK : 0;
      writeEnd(tensor, block, firstEntry + entry, end | mark);
    });
    before += ends[GENERAL_THREADS - 1];
    // The next strip writes what this one read.
    inAllThreads<GENERAL_THREADS>([](uint32_t) {});
  }
}

}  // namespace lowbit
