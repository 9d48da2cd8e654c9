// Rows on their way in: tensors of a caller become dense ones, rows of those go to window pages.
#pragma once
#include "block.cuh"
#include "job.cuh"

namespace lowbit {

constexpr int MOVE_THREADS = 128;

/// A tensor of a caller, strides in elements, and where it goes.
struct ImportJob {
  const void* source;
  /// [token][head][channel] f16, or f32; null where values are only looked at.
  void* target;
  /// Null, or a word that becomes the smallest number of an element that is not finite in f16.
  uint32_t* flag;
  uint64_t elements;
  uint64_t batchStride;
  uint64_t tokenStride;
  uint64_t headStride;
  uint32_t tokensPerBatch;
  uint32_t heads;
  uint32_t headDim;
  QueryType sourceType;
  /// F16 or F32.
  QueryType targetType;
  uint32_t unused;
};

/// Rows of an input that go to window pages of one tensor.
struct WriteJob {
  /// WRITE_WORDS u32 each: row, page, slot, count.
  const uint32_t* table;
  /// f16 [row][head][channel].
  const uint16_t* input;
  /// f16 [page][head][slot][channel].
  uint16_t* windows;
  uint32_t entries;
  uint32_t heads;
  uint32_t headDim;
  uint32_t windowTokens;
};

constexpr uint32_t WRITE_WORDS = 4;

/// The value of an element in the bits of its type.
LOWBIT_INLINE float valueOf(const void* source, QueryType type, uint64_t element) {
  if (type == QueryType::F32) return static_cast<const float*>(source)[element];
  const uint32_t bits = static_cast<const uint16_t*>(source)[element];
  return type == QueryType::F16 ? halfValue(bits) : floatOf(bits << 16);
}

/// f16 bits of any value: NaN stays one.
LOWBIT_INLINE uint32_t halfBitsOf(float value) { return value == value ? halfBits(value) : 0x7e00u; }

LOWBIT_INLINE void lower(uint32_t* word, uint32_t value) {
#if defined(__CUDA_ARCH__)
  atomicMin(word, value);
#else
  if (value < *word) *word = value;
#endif
}

LOWBIT_INLINE uint32_t smaller(uint32_t word, uint64_t value) { return value < word ? static_cast<uint32_t>(value) : word; }

/// Eight neighbour f16 numbers.
struct alignas(16) Eight {
  uint16_t halves[8];
};

/// Grid: (blocks, 1), each 8 neighbour elements a thread at a time.
LOWBIT_INLINE void importTensor(const ImportJob& job, uint32_t block, uint32_t blocks) {
  inAllThreads<MOVE_THREADS>([&](uint32_t thread) {
    // Runs of eight lie in one row: where they do not, every element is a run.
    const uint32_t run = job.headDim % 8 == 0 ? 8 : 1;
    const uint64_t step = static_cast<uint64_t>(blocks) * MOVE_THREADS * run;
    uint32_t worst = 0xffffffffu;
    for (uint64_t first = (static_cast<uint64_t>(block) * MOVE_THREADS + thread) * run; first < job.elements; first += step) {
      const uint64_t row = first / job.headDim;
      const uint32_t channel = static_cast<uint32_t>(first % job.headDim);
      const uint32_t head = static_cast<uint32_t>(row % job.heads);
      const uint64_t token = row / job.heads;
      const uint64_t from = token / job.tokensPerBatch * job.batchStride + token % job.tokensPerBatch * job.tokenStride + head * job.headStride + channel;
      const auto* halves = static_cast<const uint16_t*>(job.source) + from;
      if (run == 8 && job.sourceType == QueryType::F16 && job.targetType == QueryType::F16 && reinterpret_cast<uintptr_t>(halves) % 16 == 0) {
        const Eight eight = *reinterpret_cast<const Eight*>(halves);
        for (uint32_t i = 8; i-- > 0;)
          if (!isFiniteHalf(eight.halves[i])) worst = smaller(worst, first + i);
        if (job.target != nullptr) static_cast<Eight*>(job.target)[first / 8] = eight;
        continue;
      }
      for (uint32_t i = 0; i < run; ++i) {
        const float value = valueOf(job.source, job.sourceType, from + i);
        const uint32_t bits = halfBitsOf(value);
        if (!isFiniteHalf(bits)) worst = smaller(worst, first + i);
        if (job.target == nullptr) continue;
        if (job.targetType == QueryType::F32) static_cast<float*>(job.target)[first + i] = value;
        else static_cast<uint16_t*>(job.target)[first + i] = static_cast<uint16_t>(bits);
      }
    }
    if (job.flag != nullptr && worst != 0xffffffffu) lower(job.flag, worst);
  });
}

/// Rows of one head of an entry.
template <int THREADS>
LOWBIT_INLINE void writeRows(const WriteJob& job, uint32_t entry, uint32_t head) {
  if (entry >= job.entries || head >= job.heads) return;
  const uint32_t* words = job.table + entry * WRITE_WORDS;
  const uint32_t row = words[0], page = words[1], slot = words[2], count = words[3];
  const uint16_t* from = job.input + (static_cast<uint64_t>(row) * job.heads + head) * job.headDim;
  const uint64_t fromStride = static_cast<uint64_t>(job.heads) * job.headDim;
  uint16_t* to = job.windows + ((static_cast<uint64_t>(page) * job.heads + head) * job.windowTokens + slot) * job.headDim;
  inAllThreads<THREADS>([&](uint32_t thread) {
    if (job.headDim % 8 == 0) {
      const uint32_t eights = job.headDim / 8;
      for (uint32_t i = thread; i < count * eights; i += THREADS)
        reinterpret_cast<Eight*>(to)[i] = reinterpret_cast<const Eight*>(from + i / eights * fromStride)[i % eights];
    } else {
      for (uint32_t i = thread; i < count * job.headDim; i += THREADS) to[i] = from[i / job.headDim * fromStride + i % job.headDim];
    }
  });
}

/// Dense f16 numbers of which those that are not finite are looked for.
struct CheckJob {
  const uint16_t* values;
  /// Becomes the smallest number of an element that is not finite.
  uint32_t* flag;
  /// A multiple of 8.
  uint64_t elements;
};

/// One of `blocks` blocks.
template <int THREADS>
LOWBIT_INLINE void checkValues(const CheckJob& job, uint32_t block, uint32_t blocks) {
  inAllThreads<THREADS>([&](uint32_t thread) {
    uint32_t worst = 0xffffffffu;
    for (uint64_t first = (static_cast<uint64_t>(block) * THREADS + thread) * 8; first < job.elements; first += static_cast<uint64_t>(blocks) * THREADS * 8) {
      const Eight eight = *reinterpret_cast<const Eight*>(job.values + first);
      for (uint32_t i = 8; i-- > 0;)
        if (!isFiniteHalf(eight.halves[i])) worst = smaller(worst, first + i);
    }
    if (worst != 0xffffffffu) lower(job.flag, worst);
  });
}

}  // namespace lowbit
