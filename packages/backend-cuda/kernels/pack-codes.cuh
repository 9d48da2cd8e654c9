// The last phase of packing: codes as whole vectors of words in the order of layout.cuh, and the planes of parameters.
//
// A warp takes a unit: up to 32 outer elements by as many reduced ones as a vector holds. Its lane (g, t) has OUTERS outer
// elements, 8 apart, and of each 16 reduced elements the four of its word.
#pragma once

#include "pack-tile.cuh"

namespace lowbit {

template <typename Plan>
struct PackCodes : PackTile<Plan> {
  using Tile = PackTile<Plan>;
  using typename Tile::Codes;
  using typename Tile::Shared;

  static constexpr PageLayout LAYOUT = Tile::LAYOUT;
  static constexpr int BITS = LAYOUT.bits;
  static constexpr int FIELDS = fieldsOfByte(BITS);
  static constexpr int VECTOR = LAYOUT.vector();
  static constexpr int SCALE_BYTE = LAYOUT.scaleByte();
  static constexpr int PLANE_ENTRIES = LAYOUT.entries();
  /// Outer elements of a lane. With one field a byte its words are many.
  static constexpr int OUTERS = FIELDS == 1 ? 2 : 4;
  static constexpr int STRIPES = OUTERS / FIELDS;
  static constexpr int UNIT_OUTER = 8 * OUTERS;
  static constexpr int UNIT_REDUCED = 16 * VECTOR;
  static constexpr int OUTER = Tile::IS_KEY ? PAGE_TOKENS : Tile::CHANNELS;
  static constexpr int REDUCED = Tile::IS_KEY ? Tile::CHANNELS : PAGE_TOKENS;
  static constexpr int UNITS_ACROSS = REDUCED / UNIT_REDUCED;
  static constexpr int UNITS = OUTER / UNIT_OUTER * UNITS_ACROSS;

  static constexpr uint32_t CODE_MASK = (1u << BITS) - 1;
  /// The lowest bit of every code of a word, and all bits of its first field.
  static constexpr uint32_t LOWEST_BITS = 0xffffffffu / CODE_MASK;
  static constexpr uint32_t FIRST_FIELDS = 0x01010101u * CODE_MASK;
  /// What sums leave in a word beside codes.
  static constexpr uint32_t ROUNDERS = ROUNDER_BITS * LOWEST_BITS;

  struct alignas(4 * VECTOR) Vector {
    uint32_t words[VECTOR];
  };

  /// Where a lane is: its first outer and reduced elements in the tile.
  struct Place {
    uint32_t outer;
    uint32_t reduced;
    uint32_t g;
    uint32_t t;

    /// Outer element o of OUTERS.
    LOWBIT_INLINE uint32_t outerAt(uint32_t o) const { return outer + 8 * o + g; }
    /// Byte j of the word of half i.
    LOWBIT_INLINE uint32_t reducedAt(uint32_t i, uint32_t j) const {
      return reduced + 16 * i + (Tile::IS_KEY ? 4 * t + j : 2 * t + (j >> 1) + 8 * (j & 1));
    }
    LOWBIT_INLINE uint32_t tokenAt(uint32_t o, uint32_t i, uint32_t j) const { return Tile::IS_KEY ? outerAt(o) : reducedAt(i, j); }
    LOWBIT_INLINE uint32_t channelAt(uint32_t o, uint32_t i, uint32_t j) const { return Tile::IS_KEY ? reducedAt(i, j) : outerAt(o); }
  };

  /// f16 bits of the four bytes' elements, in pairs of bytes 0 and 1, 2 and 3 for keys, 0 and 2, 1 and 3 for values.
  struct Quad {
    uint32_t first;
    uint32_t second;

    LOWBIT_INLINE float value(int j) const {
      const uint32_t pair = Tile::IS_KEY ? (j < 2 ? first : second) : (j % 2 == 0 ? first : second);
      const int place = Tile::IS_KEY ? j % 2 : j / 2;
      return halfValue(place == 0 ? pair : pair >> 16);
    }
  };

  static LOWBIT_INLINE void write(Shared& shared, const Pack& pack, uint32_t tile, uint32_t lane) {
    const bool whole = pack.count == PAGE_TOKENS;
    LOWBIT_ROLLED
    for (uint32_t unit = lane / LANES; unit < UNITS; unit += Tile::THREADS / LANES) {
      const uint32_t outer = unit / UNITS_ACROSS * UNIT_OUTER;
      const uint32_t reduced = unit % UNITS_ACROSS * UNIT_REDUCED;
      const bool met = Tile::IS_KEY ? pack.meets(outer, UNIT_OUTER) : pack.meets(reduced, UNIT_REDUCED);
      if (met) writeUnit(shared, pack, tile, Place{outer, reduced, lane % LANES / 4, lane % 4}, whole);
    }
    writeParameters(shared, pack, tile, lane, whole);
  }

  static LOWBIT_INLINE void writeUnit(const Shared& shared, const Pack& pack, uint32_t tile, const Place& place, bool whole) {
    const bool special = shared.hasSpecial != 0;
    Vector vectors[STRIPES];
    Step steps[4];
    LOWBIT_UNROLL
    for (int i = 0; i < VECTOR; ++i) {
      loadSteps(shared, place, i, steps);
      Quad quads[OUTERS];
      loadQuads(shared, place, i, quads);
      LOWBIT_UNROLL
      for (int s = 0; s < STRIPES; ++s) {
        vectors[s].words[i] = wordOf(shared, place, i, s, quads, steps, special);
      }
    }
    // A copy: a constant of a class has no address on the device.
    constexpr PageLayout layout = LAYOUT;
    const uint32_t half = (reducedOffset(tile) + place.reduced) / 16;
    const uint32_t stripe = (outerOffset(tile) + place.outer) / (8 * FIELDS);
    LOWBIT_UNROLL
    for (int s = 0; s < STRIPES; ++s) {
      auto* to = reinterpret_cast<Vector*>(pack.piece + 4 * layout.wordIndex(stripe + s, half, 4 * place.g + place.t));
      if (whole) {
        *to = vectors[s];
      } else {
        LOWBIT_UNROLL
        for (int i = 0; i < VECTOR; ++i) {
          const uint32_t mask = packedBits(pack, place, i, s);
          if (mask != 0) to->words[i] = (to->words[i] & ~mask) | (vectors[s].words[i] & mask);
        }
      }
    }
  }

  /// Of the page, where a tile is not all of it.
  static LOWBIT_INLINE uint32_t outerOffset(uint32_t tile) { return Tile::IS_KEY ? 0 : tile * Tile::CHANNELS; }
  static LOWBIT_INLINE uint32_t reducedOffset(uint32_t tile) { return Tile::IS_KEY ? tile * Tile::CHANNELS : 0; }

  /// Of the four bytes, or of the four outer elements.
  static LOWBIT_INLINE void loadSteps(const Shared& shared, const Place& place, int i, Step (&steps)[4]) {
    if constexpr (Tile::OUTER_GROUPS) {
      LOWBIT_UNROLL
      for (int j = 0; j < 4; ++j) steps[j] = shared.steps[Tile::entryOf(place.tokenAt(0, i, j), place.channelAt(0, i, j))];
    } else if (i % (Tile::GROUP / 16) == 0) {
      LOWBIT_UNROLL
      for (int o = 0; o < OUTERS; ++o) steps[o] = shared.steps[Tile::entryOf(place.tokenAt(o, i, 0), place.channelAt(o, i, 0))];
    }
  }

  static LOWBIT_INLINE void loadQuads(const Shared& shared, const Place& place, int i, Quad (&quads)[OUTERS]) {
    if constexpr (Tile::IS_KEY) {
      const uint32_t channel = place.reduced + 16 * i + 4 * place.t;
      LOWBIT_UNROLL
      for (int o = 0; o < OUTERS; ++o) {
        const Chunk& chunk = shared.rows[Tile::chunkAt(place.outerAt(o), channel / 8)];
        struct alignas(8) Words { uint32_t first; uint32_t second; };
        const Words words = reinterpret_cast<const Words*>(&chunk)[place.t % 2];
        quads[o] = Quad{words.first, words.second};
      }
    } else {
#if defined(__CUDA_ARCH__)
      // Four matrices of 8 tokens by 8 channels, turned: their rows come from lanes 0 to 7, 8 to 15, and so on.
      __syncwarp();
      const uint32_t lane = 4 * place.g + place.t;
      const uint32_t token = place.reduced + 16 * i + lane % 16;
      LOWBIT_UNROLL
      for (int o = 0; o < OUTERS; o += 2) {
        const uint32_t column = (place.outer + 8 * o) / 8 + lane / 16;
        const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(&shared.rows[Tile::chunkAt(token, column)]));
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(quads[o].first), "=r"(quads[o].second), "=r"(quads[o + 1].first), "=r"(quads[o + 1].second)
                     : "r"(address)
                     : "memory");
      }
#else
      for (int o = 0; o < OUTERS; ++o) {
        const uint32_t token = place.reduced + 16 * i + 2 * place.t;
        const uint32_t channel = place.outerAt(o);
        const auto pair = [&](uint32_t first) {
          return Tile::halfAt(shared, first, channel) | Tile::halfAt(shared, first + 1, channel) << 16;
        };
        quads[o] = Quad{pair(token), pair(token + 8)};
      }
#endif
    }
  }

  /// A word of stripe s: fields o = FIELDS s + f.
  static LOWBIT_INLINE uint32_t wordOf(
    const Shared& shared, const Place& place, int i, int s, const Quad (&quads)[OUTERS], const Step (&steps)[4], bool special) {
    uint32_t up = 0;
    uint32_t down = 0;
    uint32_t flips = 0;
    LOWBIT_UNROLL
    for (int f = 0; f < FIELDS; ++f) {
      LOWBIT_UNROLL
      for (int j = 0; j < 4; ++j) {
        const int o = FIELDS * s + f;
        const Step& step = steps[Tile::OUTER_GROUPS ? j : o];
        const int bias = Codes::biasOf(Codes::isAsymmetric(step));
        const float rounder = ROUNDER + static_cast<float>(bias);
        float numerator = Codes::numeratorOf(quads[o].value(j), step);
        if (Codes::LIMITED) numerator = std::fmin(numerator, Codes::limitOf(step));
        const int shift = 8 * j + BITS * f;
        up += bitsOf(fusedOf(numerator, step.up, rounder)) << shift;
        down += bitsOf(fusedOf(numerator, step.down, rounder)) << shift;
        flips |= static_cast<uint32_t>(bias) << shift;
      }
    }
    uint32_t word = (down - ROUNDERS) ^ flips;
    if (up != down || special) {
      // Neighbour integers differ in their lowest bit.
      uint32_t open = special ? LOWEST_BITS : ((up - ROUNDERS) ^ (down - ROUNDERS)) & LOWEST_BITS;
      LOWBIT_ROLLED
      for (; open != 0; open &= open - 1) {
        const uint32_t bit = lowestBit(open);
        const uint32_t j = bit / 8;
        const uint32_t o = FIELDS * s + bit % 8 / BITS;
        const uint32_t token = place.tokenAt(o, i, j);
        const uint32_t channel = place.channelAt(o, i, j);
        const float value = halfValue(Tile::halfAt(shared, token, channel));
        const int code = Codes::codeOf(value, shared.steps[Tile::entryOf(token, channel)]);
        word = (word & ~(CODE_MASK << bit)) | (static_cast<uint32_t>(code) & CODE_MASK) << bit;
      }
    }
    return word;
  }

  /// Bits of a word whose tokens are packed now.
  static LOWBIT_INLINE uint32_t packedBits(const Pack& pack, const Place& place, int i, int s) {
    uint32_t mask = 0;
    LOWBIT_UNROLL
    for (int k = 0; k < (Tile::IS_KEY ? FIELDS : 4); ++k) {
      const uint32_t token = Tile::IS_KEY ? place.outerAt(FIELDS * s + k) : place.reducedAt(i, k);
      const uint32_t bits = Tile::IS_KEY ? FIRST_FIELDS << BITS * k : 0xffu << 8 * k;
      if (pack.has(token)) mask |= bits;
    }
    return mask;
  }

  static LOWBIT_INLINE void writeParameters(const Shared& shared, const Pack& pack, uint32_t tile, uint32_t lane, bool whole) {
    constexpr int RUN = 8;
    constexpr int RUNS = Tile::ENTRIES / RUN;
    LOWBIT_ROLLED
    for (uint32_t run = lane; run < Tile::PLANES * RUNS; run += Tile::THREADS) {
      const uint32_t plane = run / RUNS;
      const uint32_t first = run % RUNS * RUN;
      auto* to = reinterpret_cast<uint16_t*>(pack.piece + SCALE_BYTE) + plane * PLANE_ENTRIES + placeInPage(first, tile);
      const uint16_t* from = &shared.parameters[plane][first];
      if (whole) {
        *reinterpret_cast<Chunk*>(to) = *reinterpret_cast<const Chunk*>(from);
      } else {
        LOWBIT_ROLLED
        for (uint32_t k = 0; k < RUN; ++k) {
          const uint32_t token = firstTokenOf(first + k);
          if (pack.has(token)) to[k] = from[k];
          // What was left of another page, NaN even, must not meet weights of 0, nor be the largest of its page.
          else if (pack.slot == 0) to[k] = 0;
        }
      }
    }
  }

  /// In a plane of the page, of a place in the tile that begins a run.
  static LOWBIT_INLINE uint32_t placeInPage(uint32_t place, uint32_t tile) {
    if constexpr (Tile::TILES == 1) {
      return place;
    } else if constexpr (Tile::ALONG_TOKENS) {
      // Every t, or every g, has the channels of a tile side by side.
      constexpr int SIDE = Tile::CHANNELS / (Tile::IS_KEY ? 4 : 8);
      return (place / SIDE * Tile::TILES + tile) * SIDE + place % SIDE;
    } else {
      return tile * Tile::ENTRIES + place;
    }
  }

  /// The first token of the group whose parameters lie at a place of the tile.
  static LOWBIT_INLINE uint32_t firstTokenOf(uint32_t place) {
    if (Tile::ALONG_TOKENS) return place / Tile::OTHERS * Tile::GROUP;
    const uint32_t other = place % PAGE_TOKENS;
    return other % (PAGE_TOKENS / 8) * 8 + other / (PAGE_TOKENS / 8);
  }
};

}  // namespace lowbit
