// The tile that a CTA packs: 128 tokens of up to 128 channels of one head, as rows in shared memory.
#pragma once

#include "layout.cuh"
#include "pack-commands.cuh"
#include "quantize.cuh"

namespace lowbit {

/// Plan: `static constexpr PageLayout LAYOUT` and `static constexpr Quantizer QUANTIZER`.
template <typename Plan>
struct PackTile {
  static constexpr PageLayout LAYOUT = Plan::LAYOUT;
  using Codes = CodeRule<LAYOUT.bits, Plan>;
  static constexpr bool IS_KEY = LAYOUT.tensor == Tensor::KEY;
  static constexpr bool ALONG_TOKENS = LAYOUT.along == Along::TOKENS;
  /// Groups along the axis that attention does not reduce: what it reduces has parameters of its own.
  static constexpr bool OUTER_GROUPS = IS_KEY == ALONG_TOKENS;
  static constexpr bool FACTORS = Plan::FACTORS;
  /// Largest magnitudes are measured, instead of minima and maxima.
  static constexpr bool BY_MAGNITUDE = Codes::MODE == Mode::SYMMETRIC && !Codes::SIGNED_SCALE;

  static constexpr int CHANNELS = LAYOUT.headDim < 128 ? LAYOUT.headDim : 128;
  static constexpr int TILES = LAYOUT.headDim / CHANNELS;
  static constexpr int COLUMNS = CHANNELS / 8;
  /// Neighbour rows of a lane, which takes eight channels of them.
  static constexpr int PATCH_ROWS = 8;
  static constexpr int PATCHES = PAGE_TOKENS / PATCH_ROWS;
  static constexpr int THREADS = COLUMNS * PATCHES;

  static constexpr int GROUP = LAYOUT.groupSize;
  static constexpr int GROUPS = (ALONG_TOKENS ? PAGE_TOKENS : CHANNELS) / GROUP;
  static constexpr int OTHERS = ALONG_TOKENS ? CHANNELS : PAGE_TOKENS;
  static constexpr int ENTRIES = GROUPS * OTHERS;
  static constexpr int PLANES = Codes::HAS_ZERO ? 2 : 1;
  /// The tile as if it was a page, for where parameters lie.
  static constexpr PageLayout TILE_LAYOUT = {LAYOUT.tensor, LAYOUT.bits, CHANNELS, LAYOUT.along, GROUP, Codes::HAS_ZERO, LAYOUT.isHybrid};

  static_assert(LAYOUT.headDim % CHANNELS == 0 && CHANNELS % 32 == 0, "head dims are 64, 96 or multiples of 128");
  static_assert(LAYOUT.hasZero == Codes::HAS_ZERO, "the quantizer says whether there are zeros");
  static_assert(LAYOUT.bits != 3 || LAYOUT.vector() == 4, "words of four halves are spread over three");
  static_assert(!FACTORS || (IS_KEY && Codes::MODE == Mode::SYMMETRIC), "factors are of keys around zero");
  static_assert((ALONG_TOKENS ? PAGE_TOKENS : CHANNELS) % GROUP == 0 && GROUP % 32 == 0, "a tile is whole groups");

  /// Chunks from row to row. Chunks of eight neighbour rows lie in different banks.
  static constexpr int ROW_CHUNKS = COLUMNS <= 8 ? 8 : 16;
  /// Words from row to row of what was measured along channels: patches of two rows lie in different banks.
  static constexpr int PART_STRIDE = COLUMNS + 2;
  static constexpr int PART_WORDS = ALONG_TOKENS ? PATCHES * CHANNELS : PAGE_TOKENS * PART_STRIDE;
  /// With factors measures are f32, the minima behind the maxima.
  static constexpr int PART_PLANES = FACTORS && !BY_MAGNITUDE ? 2 : 1;

  struct alignas(16) Shared {
    Chunk rows[PAGE_TOKENS * ROW_CHUNKS];
    Step steps[ENTRIES];
    /// Minima and maxima. Along tokens of patch and channel: two planes of f16. Along channels pairs of row and column.
    alignas(16) uint32_t parts[PART_WORDS * PART_PLANES];
    float factors[FACTORS ? CHANNELS : 4];
    /// Scales and zeros, in the order of the page.
    alignas(16) uint16_t parameters[PLANES][ENTRIES];
    /// Whether an element is not finite.
    uint32_t hasSpecial;
  };

  static LOWBIT_INLINE uint32_t chunkAt(uint32_t row, uint32_t column) {
    const uint32_t turn = (row & 3) * 2 + (row >> 2 & 1);
    return row * ROW_CHUNKS + (column ^ turn);
  }

  /// f16 bits of an element.
  static LOWBIT_INLINE uint32_t halfAt(const Shared& shared, uint32_t row, uint32_t channel) {
    const auto* halves = reinterpret_cast<const uint16_t*>(&shared.rows[chunkAt(row, channel / 8)]);
    return halves[channel % 8];
  }

  static LOWBIT_INLINE float valueAt(const Shared& shared, uint32_t row, uint32_t channel) {
    const float value = halfValue(halfAt(shared, row, channel));
    return FACTORS ? productOf(value, shared.factors[channel]) : value;
  }

  /// Element of a group, in the order of the group.
  static LOWBIT_INLINE float elementOf(const Shared& shared, uint32_t group, uint32_t other, uint32_t i) {
    const uint32_t place = group * GROUP + i;
    return ALONG_TOKENS ? valueAt(shared, place, other) : valueAt(shared, other, place);
  }

  /// Entry of an element among the steps.
  static LOWBIT_INLINE uint32_t entryOf(uint32_t token, uint32_t channel) {
    return ALONG_TOKENS ? token / GROUP * OTHERS + channel : channel / GROUP * OTHERS + token;
  }
};

}  // namespace lowbit
