// The first two phases of packing: rows into shared memory, with minima and maxima of patches; then parameters of groups.
#pragma once

#include "pack-tile.cuh"

namespace lowbit {

template <typename Plan>
struct PackMeasure : PackTile<Plan> {
  using Tile = PackTile<Plan>;
  using typename Tile::Codes;
  using typename Tile::Shared;
  static constexpr bool BY_MAGNITUDE = Tile::BY_MAGNITUDE;

  static LOWBIT_INLINE void load(Shared& shared, const PackJob& job, const Pack& pack, uint32_t head, uint32_t firstChannel, uint32_t lane) {
    const uint32_t column = lane % Tile::COLUMNS;
    const uint32_t patch = lane / Tile::COLUMNS;
    const uint32_t first = patch * Tile::PATCH_ROWS;
    const uint32_t byte = 2 * (firstChannel + 8 * column);
    if (lane == 0) shared.hasSpecial = 0;
    Chunk chunks[Tile::PATCH_ROWS];
    if (pack.spanCount == 1 && pack.count == PAGE_TOKENS) {
      const Rows rows(job, pack.spans, head);
      const unsigned char* row = rows.at(first) + byte;
      LOWBIT_UNROLL
      for (int i = 0; i < Tile::PATCH_ROWS; ++i) chunks[i] = loadChunk(row + i * rows.strideBytes);
    } else {
      LOWBIT_UNROLL
      for (int i = 0; i < Tile::PATCH_ROWS; ++i) {
        chunks[i] = pack.has(first + i) ? loadChunk(rowOf(job, pack, first + i, head) + byte) : Chunk{{0, 0, 0, 0}};
      }
    }
    LOWBIT_UNROLL
    for (int i = 0; i < Tile::PATCH_ROWS; ++i) shared.rows[Tile::chunkAt(first + i, column)] = chunks[i];
    if constexpr (Tile::FACTORS) {
      const auto* statistics = reinterpret_cast<const uint16_t*>(pack.statistics) + head * Tile::LAYOUT.headDim + firstChannel;
      float factors[8];
      LOWBIT_UNROLL
      for (int j = 0; j < 8; ++j) factors[j] = pack.statistics == nullptr ? 1.0f : halfValue(statistics[8 * column + j]);
      if (patch == 0) {
        LOWBIT_UNROLL
        for (int j = 0; j < 8; ++j) shared.factors[8 * column + j] = factors[j];
      }
      measureProducts(shared, chunks, factors, patch, column);
    } else if constexpr (Tile::ALONG_TOKENS) {
      measureDown(shared, chunks, patch, column);
    } else {
      measureAcross(shared, chunks, first, column);
    }
  }

  static LOWBIT_INLINE void measureDown(Shared& shared, const Chunk (&chunks)[Tile::PATCH_ROWS], uint32_t patch, uint32_t column) {
    Chunk low = chunks[0];
    Chunk high;
    LOWBIT_UNROLL
    for (int p = 0; p < 4; ++p) {
      high.pairs[p] = BY_MAGNITUDE ? magnitudesOf(low.pairs[p]) : low.pairs[p];
      LOWBIT_UNROLL
      for (int i = 1; i < Tile::PATCH_ROWS; ++i) {
        const uint32_t pair = chunks[i].pairs[p];
        high.pairs[p] = largerPair(high.pairs[p], BY_MAGNITUDE ? magnitudesOf(pair) : pair);
        if (!BY_MAGNITUDE) low.pairs[p] = smallerPair(low.pairs[p], pair);
      }
    }
    auto* planes = reinterpret_cast<Chunk*>(shared.parts);
    planes[patch * Tile::COLUMNS + column] = high;
    if (!BY_MAGNITUDE) planes[(Tile::PATCHES + patch) * Tile::COLUMNS + column] = low;
  }

  static LOWBIT_INLINE void measureAcross(Shared& shared, const Chunk (&chunks)[Tile::PATCH_ROWS], uint32_t first, uint32_t column) {
    LOWBIT_UNROLL
    for (int i = 0; i < Tile::PATCH_ROWS; ++i) {
      uint32_t low = chunks[i].pairs[0];
      uint32_t high = BY_MAGNITUDE ? magnitudesOf(low) : low;
      LOWBIT_UNROLL
      for (int p = 1; p < 4; ++p) {
        const uint32_t pair = chunks[i].pairs[p];
        high = largerPair(high, BY_MAGNITUDE ? magnitudesOf(pair) : pair);
        if (!BY_MAGNITUDE) low = smallerPair(low, pair);
      }
      const uint32_t highs = largerPair(lowHalves(high, 0), highHalves(high, 0));
      const uint32_t lows = BY_MAGNITUDE ? 0 : smallerPair(lowHalves(low, 0), highHalves(low, 0));
      shared.parts[(first + i) * Tile::PART_STRIDE + column] = lowHalves(highs, lows);
    }
  }

  /// As the two above, but of products in f32.
  static LOWBIT_INLINE void measureProducts(
    Shared& shared, const Chunk (&chunks)[Tile::PATCH_ROWS], const float (&factors)[8], uint32_t patch, uint32_t column) {
    auto* highs = reinterpret_cast<float*>(shared.parts);
    float* lows = highs + Tile::PART_WORDS;
    constexpr int OUTER = Tile::ALONG_TOKENS ? 8 : Tile::PATCH_ROWS;
    constexpr int INNER = Tile::ALONG_TOKENS ? Tile::PATCH_ROWS : 8;
    LOWBIT_UNROLL
    for (int outer = 0; outer < OUTER; ++outer) {
      float low = INFINITY;
      float high = -INFINITY;
      LOWBIT_UNROLL
      for (int inner = 0; inner < INNER; ++inner) {
        const int row = Tile::ALONG_TOKENS ? inner : outer;
        const int channel = Tile::ALONG_TOKENS ? outer : inner;
        const uint32_t pair = chunks[row].pairs[channel / 2];
        const float product = productOf(halfValue(channel % 2 == 0 ? pair : pair >> 16), factors[channel]);
        high = maximumOrNan(high, BY_MAGNITUDE ? std::fabs(product) : product);
        if (!BY_MAGNITUDE) low = minimumOrNan(low, product);
      }
      const uint32_t place = Tile::ALONG_TOKENS ? patch * Tile::CHANNELS + 8 * column + outer
                                                : (patch * Tile::PATCH_ROWS + outer) * Tile::PART_STRIDE + column;
      highs[place] = high;
      if (!BY_MAGNITUDE) lows[place] = low;
    }
  }

  /// Measures of a group; NaN where an element is.
  static LOWBIT_INLINE Range extentOf(const Shared& shared, uint32_t group, uint32_t other) {
    if constexpr (Tile::FACTORS) {
      constexpr int PARTS = Tile::GROUP / (Tile::ALONG_TOKENS ? Tile::PATCH_ROWS : 8);
      constexpr int STRIDE = Tile::ALONG_TOKENS ? Tile::CHANNELS : 1;
      const uint32_t first = Tile::ALONG_TOKENS ? group * PARTS * Tile::CHANNELS + other : other * Tile::PART_STRIDE + group * PARTS;
      const auto* highs = reinterpret_cast<const float*>(shared.parts) + first;
      Range range{BY_MAGNITUDE ? 0.0f : highs[Tile::PART_WORDS], highs[0]};
      LOWBIT_UNROLL
      for (int i = 1; i < PARTS; ++i) {
        range.high = maximumOrNan(range.high, highs[i * STRIDE]);
        if (!BY_MAGNITUDE) range.low = minimumOrNan(range.low, highs[Tile::PART_WORDS + i * STRIDE]);
      }
      return range;
    } else {
      const uint32_t extent = extentBits(shared, group, other);
      return Range{halfValue(extent >> 16), halfValue(extent)};
    }
  }

  static LOWBIT_INLINE bool isFinite(float value) { return (bitsOf(value) & 0x7f800000) != 0x7f800000; }

  /// f16 bits: maximum in the low half, minimum in the high one.
  static LOWBIT_INLINE uint32_t extentBits(const Shared& shared, uint32_t group, uint32_t other) {
    uint32_t low = 0;
    uint32_t high = 0;
    if constexpr (Tile::ALONG_TOKENS) {
      constexpr int PARTS = Tile::GROUP / Tile::PATCH_ROWS;
      const auto* highs = reinterpret_cast<const uint16_t*>(shared.parts) + group * PARTS * Tile::CHANNELS + other;
      const uint16_t* lows = highs + Tile::PATCHES * Tile::CHANNELS;
      high = highs[0];
      low = BY_MAGNITUDE ? 0 : lows[0];
      LOWBIT_UNROLL
      for (int i = 1; i < PARTS; ++i) {
        high = largerPair(high, highs[i * Tile::CHANNELS]);
        if (!BY_MAGNITUDE) low = smallerPair(low, lows[i * Tile::CHANNELS]);
      }
    } else {
      constexpr int PARTS = Tile::GROUP / 8;
      const uint32_t* parts = shared.parts + other * Tile::PART_STRIDE + group * PARTS;
      high = parts[0];
      low = parts[0];
      LOWBIT_UNROLL
      for (int i = 1; i < PARTS; ++i) {
        high = largerPair(high, parts[i]);
        if (!BY_MAGNITUDE) low = smallerPair(low, parts[i]);
      }
      low >>= 16;
    }
    return lowHalves(high, low);
  }

  /// Range of the members of a group, and the first element of largest magnitude.
  struct Scan {
    Range range;
    float extreme;
  };

  static LOWBIT_INLINE Scan scan(const Shared& shared, uint32_t group, uint32_t other) {
    Scan seen{{INFINITY, -INFINITY}, 0.0f};
    LOWBIT_ROLLED
    for (int i = 0; i < Tile::GROUP; ++i) {
      const float value = Tile::elementOf(shared, group, other, i);
      if (value < seen.range.low) seen.range.low = value;
      if (value > seen.range.high) seen.range.high = value;
      if (std::fabs(value) > std::fabs(seen.extreme)) seen.extreme = value;
    }
    return seen;
  }

  static LOWBIT_INLINE void settleGroup(Shared& shared, uint32_t entry) {
    const uint32_t group = entry / Tile::OTHERS;
    const uint32_t other = entry % Tile::OTHERS;
    Scan seen{extentOf(shared, group, other), 0.0f};
    const bool special = !isFinite(seen.range.low) || !isFinite(seen.range.high);
    const float magnitude = -seen.range.low;
    // Which of two equal magnitudes comes first, their order alone says.
    const bool tied = Codes::SIGNED_SCALE && magnitude == seen.range.high && magnitude != 0.0f;
    if (special) shared.hasSpecial = 1;
    if (special || tied) {
      seen = scan(shared, group, other);
      if (!Codes::SIGNED_SCALE) seen.extreme = std::fabs(seen.extreme);
    } else if (Codes::SIGNED_SCALE) {
      seen.extreme = magnitude > seen.range.high ? seen.range.low : seen.range.high;
    } else {
      seen.extreme = magnitude > seen.range.high ? magnitude : seen.range.high;
    }
    settle(shared, group, other, seen);
  }

  static LOWBIT_INLINE void settle(Shared& shared, uint32_t group, uint32_t other, const Scan& seen) {
    Parameters parameters;
    Step step;
    if constexpr (Codes::MODE == Mode::SYMMETRIC) {
      parameters = Codes::aroundZero(seen.extreme);
      step = Codes::stepAroundZero(parameters);
    } else {
      parameters = Codes::overMinimum(seen.range);
      step = Codes::stepOverMinimum(parameters);
    }
    if constexpr (Codes::MODE == Mode::HYBRID) {
      const Parameters around = Codes::aroundZero(seen.extreme);
      const Step stepAround = Codes::stepAroundZero(around);
      if (prefersAsymmetric(shared, group, other, step, stepAround)) {
        parameters.scale |= HALF_SIGN;
      } else {
        parameters = around;
        step = stepAround;
      }
    }
    shared.steps[group * Tile::OTHERS + other] = step;
    // A copy: a constant of a class has no address on the device.
    constexpr PageLayout layout = Tile::TILE_LAYOUT;
    const int place = layout.parameterPlace(group, other);
    shared.parameters[0][place] = static_cast<uint16_t>(parameters.scale);
    if (Codes::HAS_ZERO) shared.parameters[Tile::PLANES - 1][place] = static_cast<uint16_t>(parameters.zero);
  }

  /// By the smaller sum of errors.
  static LOWBIT_INLINE bool prefersAsymmetric(
    const Shared& shared, uint32_t group, uint32_t other, const Step& over, const Step& around) {
    constexpr int LEVELS = Tile::GROUP == 32 ? 3 : Tile::GROUP == 64 ? 4 : 5;
    Tree<LEVELS> errorsOver;
    Tree<LEVELS> errorsAround;
    LOWBIT_ROLLED
    for (int first = 0; first < Tile::GROUP; first += 4) {
      float termsOver[4];
      float termsAround[4];
      LOWBIT_UNROLL
      for (int i = 0; i < 4; ++i) {
        const float value = Tile::elementOf(shared, group, other, first + i);
        const auto codeOver = static_cast<float>(Codes::codeOf(value, over));
        const auto codeAround = static_cast<float>(Codes::codeOf(value, around));
        const float decoded = sumOf(productOf(codeOver, std::fabs(over.scale)), over.origin);
        const bool member = value == value;
        termsOver[i] = member ? std::fabs(differenceOf(decoded, value)) : 0.0f;
        termsAround[i] = member ? std::fabs(differenceOf(productOf(codeAround, around.scale), value)) : 0.0f;
      }
      errorsOver.add(termsOver);
      errorsAround.add(termsAround);
    }
    const float sumOver = errorsOver.total();
    const float sumAround = errorsAround.total();
    return sumOver < sumAround || (Codes::QUANTIZER.tieAsymmetric && sumOver == sumAround);
  }
};

}  // namespace lowbit
