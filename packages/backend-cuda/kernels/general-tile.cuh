// The work of a CTA of the general kernels: a run of tokens of one pack, of one head or of all, as f32 rows that transforms have
// been applied to. Rows lie in shared memory, or in a scratch where they do not fit or another kernel reads them.
#pragma once
#include "block.cuh"
#include "general-stored.cuh"
#include "pack-commands.cuh"

namespace lowbit {

constexpr int GENERAL_THREADS = 256;
constexpr uint32_t GENERAL_LANES = 32;
constexpr uint32_t GENERAL_ROWS_AT_ONCE = GENERAL_THREADS / GENERAL_LANES;

struct GeneralJob {
  /// Where packs and rows are; `headBytes` is not used.
  PackJob commands;
  GeneralTensor tensor;
  /// Of all CTAs of the launch, `tileWords` each; null: rows are in shared memory.
  float* scratch;
  /// Becomes the smallest faultNumber * 65536 + head of a head that has more outliers than there is room for.
  uint32_t* fault;
  uint32_t faultNumber;
  /// Pack of the table that block 0 takes.
  uint32_t firstPack;
  /// Tokens of a tile, whole groups; and how many tiles a pack has at most.
  uint32_t runTokens;
  uint32_t runs;
  /// Heads of a tile: 1, or all where they share parameters.
  uint32_t tileHeads;
  uint32_t tileWords;
  /// The first so many transforms are applied, or number of the one that is measured.
  uint32_t transforms;
  uint32_t unused;
};

/// Small memory that a CTA has in any case.
struct GeneralShared {
  uint32_t parts[2][GENERAL_THREADS];
  uint32_t smallest;
  uint32_t median;
};

/// One word of 33 stays empty: threads that step over whole groups meet different banks.
LOWBIT_INLINE uint32_t placeOf(uint32_t element) { return element + (element >> 5); }

LOWBIT_INLINE uint32_t placesOf(uint32_t elements) { return placeOf(elements) + 1; }

struct GeneralTile {
  /// Of the pack, and its rows: [token][head][channel], at placeOf.
  float* values;
  uint32_t firstSlot;
  uint32_t firstHead;
  uint32_t tokens;
  uint32_t heads;
  uint32_t dim;

  LOWBIT_INLINE uint32_t rows() const { return tokens * heads; }
  LOWBIT_INLINE uint32_t elements() const { return rows() * dim; }
  LOWBIT_INLINE float& at(uint32_t element) const { return values[placeOf(element)]; }
  /// Room behind the rows: for as many others, and for bits of channels.
  LOWBIT_INLINE float* others(const GeneralJob& job) const { return values + placesOf(job.runTokens * heads * dim); }

  /// Calls a function with each row and channel that a thread takes.
  template <typename Each>
  LOWBIT_INLINE void each(uint32_t thread, Each function) const {
    LOWBIT_ROLLED
    for (uint32_t row = thread / GENERAL_LANES; row < rows(); row += GENERAL_ROWS_AT_ONCE) {
      LOWBIT_ROLLED
      for (uint32_t channel = thread % GENERAL_LANES; channel < dim; channel += GENERAL_LANES) function(row, channel);
    }
  }
};

/// Where the tile of a block lies: x is the run, y the head or heads, z the pack.
LOWBIT_INLINE float* tileMemory(const GeneralJob& job, float* shared, uint32_t x, uint32_t y, uint32_t z) {
  if (job.scratch == nullptr) return shared;
  const uint32_t columns = job.tensor.heads / job.tileHeads;
  return job.scratch + (static_cast<uint64_t>(z) * columns + y) * job.runs * job.tileWords + static_cast<uint64_t>(x) * job.tileWords;
}

LOWBIT_INLINE GeneralTile tileOf(const GeneralJob& job, const Pack& pack, float* shared, uint32_t x, uint32_t y, uint32_t z) {
  const uint32_t first = x * job.runTokens;
  const uint32_t left = first < pack.count ? pack.count - first : 0;
  return GeneralTile{
    tileMemory(job, shared, x, y, z), pack.slot + first, y * job.tileHeads, left < job.runTokens ? left : job.runTokens,
    job.tileHeads, job.tensor.headDim
  };
}

LOWBIT_INLINE const unsigned char* statisticsOf(const GeneralJob& job, uint32_t number) {
  const uint32_t* words = job.commands.table + number * PACK_WORDS;
  return job.commands.statistics + longOf(words[6], words[7]);
}

/// f16 rows to f32.
LOWBIT_INLINE void loadRows(const GeneralJob& job, const Pack& pack, const GeneralTile& tile) {
  inAllThreads<GENERAL_THREADS>([&](uint32_t thread) {
    LOWBIT_ROLLED
    for (uint32_t row = thread / GENERAL_LANES; row < tile.rows(); row += GENERAL_ROWS_AT_ONCE) {
      const uint32_t token = tile.firstSlot + row / tile.heads;
      const auto* source = reinterpret_cast<const uint16_t*>(rowOf(job.commands, pack, token, tile.firstHead + row % tile.heads));
      LOWBIT_ROLLED
      for (uint32_t channel = thread % GENERAL_LANES; channel < tile.dim; channel += GENERAL_LANES) {
        tile.at(row * tile.dim + channel) = halfValue(source[channel]);
      }
    }
  });
}

}  // namespace lowbit
