// Decodes tokens of one head into rows of f32 in shared memory, as core's docs/law.md section 8 says.
#pragma once
#include "general-tokens.cuh"

namespace lowbit {

/// Channels, or tokens, whose codes a thread decodes with one look at their parameters.
constexpr uint32_t STRIP = 8;

/// Rows of a tile, and what goes into them.
struct DecodedRows {
  const GeneralTensor& tensor;
  uint32_t head;
  float* rows;
  /// Floats from row to row.
  uint32_t stride;
  const TokenPlace* places;
  uint32_t count;
  /// The tokens lie in slots of one page that follow one another.
  bool isRun;
  /// Of a level table, in shared memory; null: codes stand for integers.
  const float* levels;
};

LOWBIT_INLINE bool hasLevels(const GeneralTensor& tensor) {
  return tensor.bits != 16 && (tensor.mode == GeneralMode::LEVELS || tensor.mode == GeneralMode::LEVELS_OVER_ZERO);
}

/// 2^23: in its last bits a float holds an integer.
constexpr uint32_t INTEGER_BITS = 0x4b000000;

/// Parameters of a group.
struct GroupParameters {
  float scale;
  float zero;
  /// Exclusive-ored with a code, bits of a float that is too large by `bias`.
  uint32_t flip;
  float bias;

  LOWBIT_INLINE float decode(const float* levels, uint32_t code) const {
    const float level = levels != nullptr ? levels[code] : differenceOf(floatOf(code ^ flip), bias);
    return sumOf(productOf(level, scale), zero);
  }
};

LOWBIT_INLINE GroupParameters parametersAt(const DecodedRows& tile, const unsigned char* base, uint32_t entry) {
  const GeneralTensor& tensor = tile.tensor;
  // Two's complement becomes unsigned with its highest bit flipped.
  bool isSigned = tensor.mode == GeneralMode::SYMMETRIC || tensor.mode == GeneralMode::HYBRID;
  GroupParameters group = {1.0f, 0.0f, INTEGER_BITS, 0x1p23f};
  if (tensor.scaleType != StoredType::NONE) {
    uint32_t bits = loadStored(base + tensor.scaleOffset, tensor.scaleType, entry);
    if (tensor.mode == GeneralMode::HYBRID) {
      const uint32_t sign = signOfScale(tensor.scaleType);
      if ((bits & sign) != 0) isSigned = false;
      bits &= ~sign;
    }
    group.scale = storedValue(tensor.scaleType, bits);
  }
  if (tensor.zeroType != StoredType::NONE)
    group.zero = storedValue(tensor.zeroType, loadStored(base + tensor.zeroOffset, tensor.zeroType, entry));
  if (isSigned) {
    const uint32_t half = 1u << (tensor.bits - 1);
    group.flip ^= half;
    group.bias += static_cast<float>(half);
  }
  return group;
}

LOWBIT_INLINE float halfAt(const unsigned char* base, uint32_t index) {
  return halfValue(reinterpret_cast<const uint16_t*>(base)[index]);
}

/// Four channels of an f16 row, of which `live` are there.
LOWBIT_INLINE Quad loadHalves(const unsigned char* base, uint32_t channel, uint32_t live) {
  const unsigned char* first = base + 2 * channel;
  if (live == 4 && reinterpret_cast<uintptr_t>(first) % 8 == 0) {
    struct alignas(8) Words {
      uint32_t low, high;
    };
    const Words words = *reinterpret_cast<const Words*>(first);
    return {{halfValue(words.low & 0xffff), halfValue(words.low >> 16), halfValue(words.high & 0xffff),
             halfValue(words.high >> 16)}};
  }
  Quad quad;
  LOWBIT_UNROLL
  for (uint32_t j = 0; j < 4; ++j) quad.lanes[j] = j < live ? halfAt(first, j) : 0.0f;
  return quad;
}

/// Up to four codes, the first in the lowest bits: `width` bits from `bit` on of a row.
LOWBIT_INLINE uint32_t codesAt(const unsigned char* row, uint32_t bit, uint32_t width) {
  const uint32_t* words = reinterpret_cast<const uint32_t*>(row) + bit / 32;
  const uint32_t shift = bit % 32;
  uint32_t codes = words[0] >> shift;
  if (shift + width > 32) codes |= words[1] << (32 - shift);
  return codes;
}

/// How many of `count` are left from `first` on, up to `most`.
LOWBIT_INLINE uint32_t leftOf(uint32_t count, uint32_t first, uint32_t most) {
  if (first >= count) return 0;
  return count - first < most ? count - first : most;
}

/// Middle elements of the outlier bands of a token: the others lie over them.
struct MiddleBand {
  const GeneralTensor& tensor;
  float first;
  float step;

  LOWBIT_INLINE MiddleBand(const GeneralTensor& own, const unsigned char* parameters, uint32_t slot)
      : tensor(own), first(halfAt(parameters + own.middleOffset, slot)) {
    step = own.midRise != 0 ? productOf(first, 0.0625f) : halfAt(parameters + own.middleStepOffset, slot);
  }

  LOWBIT_INLINE float decode(uint32_t nibble) const {
    if (tensor.midRise != 0) {
      const float magnitude = productOf(static_cast<float>(2 * (nibble & 7) + 1), step);
      return (nibble & 8) == 0 ? sumOf(tensor.innerHigh, magnitude) : differenceOf(tensor.innerLow, magnitude);
    }
    const float shift = sumOf(productOf(static_cast<float>(nibble), step), first);
    return sumOf(shift < 0.0f ? tensor.innerLow : tensor.innerHigh, shift);
  }
};

/// Threads that decode neighbouring strips of a token, as a power of two: up to a warp.
LOWBIT_INLINE uint32_t laneBits(uint32_t count) {
  uint32_t bits = 5;
  while (bits > 0 && 1u << (bits - 1) >= count) --bits;
  return bits;
}

/// A strip of channels of an f16 row.
LOWBIT_INLINE void copyHalves(const DecodedRows& tile, const TokenPlace& place, uint32_t channel, Quad* to) {
  LOWBIT_UNROLL
  for (uint32_t i = 0; i < STRIP; i += 4) {
    const uint32_t live = leftOf(tile.tensor.headDim, channel + i, 4);
    if (live > 0) to[i / 4] = loadHalves(place.base, channel + i, live);
  }
}

/// A strip of channels whose codes `decode` turns into numbers.
template <typename Decode>
LOWBIT_INLINE void decodeStrip(
  const GeneralTensor& tensor, const unsigned char* row, uint32_t channel, Quad* to, Decode decode
) {
  const uint32_t bits = tensor.bits;
  const uint32_t mask = (1u << bits) - 1;
  LOWBIT_UNROLL
  for (uint32_t i = 0; i < STRIP; i += 4) {
    const uint32_t live = leftOf(tensor.headDim, channel + i, 4);
    if (live == 0) continue;
    const uint32_t codes = codesAt(row, (channel + i) * bits, live * bits);
    Quad quad;
    LOWBIT_UNROLL
    for (uint32_t j = 0; j < 4; ++j) quad.lanes[j] = j < live ? decode(codes >> bits * j & mask) : 0.0f;
    to[i / 4] = quad;
  }
}

/// A strip of channels in which a group ends.
LOWBIT_INLINE void decodeGroups(
  const DecodedRows& tile, const unsigned char* row, const unsigned char* parameters, uint32_t firstEntry, uint32_t channel,
  float* to
) {
  const GeneralTensor& tensor = tile.tensor;
  const uint32_t mask = (1u << tensor.bits) - 1;
  const uint32_t padded = (tensor.headDim + 3) / 4 * 4;
  LOWBIT_ROLLED
  for (uint32_t i = 0; i < STRIP && channel + i < padded; ++i) {
    const uint32_t at = channel + i;
    to[i] = 0.0f;
    if (at >= tensor.headDim) continue;
    const GroupParameters numbers = parametersAt(tile, parameters, firstEntry + at / tensor.channelsPerGroup);
    to[i] = numbers.decode(tile.levels, codesAt(row, at * tensor.bits, tensor.bits) & mask);
  }
}

/// Rows of codes are tokens: a thread takes the same strips of channels in several tokens.
LOWBIT_INLINE void decodeTokenRows(const DecodedRows& tile, uint32_t thread) {
  const GeneralTensor& tensor = tile.tensor;
  const uint32_t strips = (tensor.headDim + STRIP - 1) / STRIP;
  const uint32_t lanes = laneBits(strips);
  const uint32_t headAt = tile.head * tensor.headBytes;
  const auto parametersAtHead = static_cast<uint32_t>(parameterBase(tensor, tile.head));
  LOWBIT_ROLLED
  for (uint32_t strip = thread & ((1u << lanes) - 1); strip < strips; strip += 1u << lanes) {
    const uint32_t channel = STRIP * strip;
    const uint32_t group = tensor.bits == 16 ? 0 : channel / tensor.channelsPerGroup;
    const bool isWhole = channel + leftOf(tensor.headDim, channel, STRIP) <= (group + 1) * tensor.channelsPerGroup;
    LOWBIT_ROLLED
    for (uint32_t token = thread >> lanes; token < tile.count; token += ATTEND_THREADS >> lanes) {
      const TokenPlace place = tile.places[token];
      Quad* to = reinterpret_cast<Quad*>(tile.rows + token * tile.stride + channel);
      if (!place.isPacked()) {
        copyHalves(tile, place, channel, to);
        continue;
      }
      const auto slot = static_cast<uint32_t>(place.slot);
      const unsigned char* row = place.base + headAt + slot * tensor.rowBytes;
      const unsigned char* parameters = place.base + parametersAtHead;
      if (tensor.mode == GeneralMode::BANDS) {
        const MiddleBand band(tensor, parameters, slot);
        decodeStrip(tensor, row, channel, to, [&](uint32_t nibble) { return band.decode(nibble); });
      } else if (isWhole) {
        const GroupParameters numbers = parametersAt(tile, parameters, place.entry + group);
        if (tile.levels == nullptr)
          decodeStrip(tensor, row, channel, to, [&](uint32_t code) { return numbers.decode(nullptr, code); });
        else decodeStrip(tensor, row, channel, to, [&](uint32_t code) { return numbers.decode(tile.levels, code); });
      } else {
        decodeGroups(tile, row, parameters, place.entry, channel, to->lanes);
      }
    }
  }
}

/// A channel of tokens wherever they are.
LOWBIT_INLINE void decodeScattered(const DecodedRows& tile, uint32_t channel, uint32_t first, uint32_t count) {
  const GeneralTensor& tensor = tile.tensor;
  const uint32_t bits = tensor.bits;
  const uint32_t mask = (1u << bits) - 1;
  const uint32_t rowAt = tile.head * tensor.headBytes + channel * tensor.rowBytes;
  const auto parametersAtHead = static_cast<uint32_t>(parameterBase(tensor, tile.head));
  // What was read last.
  const unsigned char* heldBase = nullptr;
  uint32_t heldEntry = 0;
  GroupParameters numbers = {};
  LOWBIT_ROLLED
  for (uint32_t token = first; token < first + count; ++token) {
    const TokenPlace place = tile.places[token];
    float& to = tile.rows[token * tile.stride + channel];
    if (!place.isPacked()) {
      to = halfAt(place.base, channel);
      continue;
    }
    if (place.base != heldBase || place.entry != heldEntry) {
      numbers = parametersAt(tile, place.base + parametersAtHead, place.entry + channel);
      heldBase = place.base;
      heldEntry = place.entry;
    }
    to = numbers.decode(tile.levels, codesAt(place.base + rowAt, static_cast<uint32_t>(place.slot) * bits, bits) & mask);
  }
}

/// Rows of codes are channels: a thread takes one channel of a strip of tokens, which mostly share parameters.
LOWBIT_INLINE void decodeChannelRows(const DecodedRows& tile, uint32_t thread) {
  constexpr uint32_t STRIPS = TILE_TOKENS / STRIP;
  const GeneralTensor& tensor = tile.tensor;
  const uint32_t padded = (tensor.headDim + 3) / 4 * 4;
  const uint32_t bits = tensor.bits;
  const uint32_t mask = (1u << bits) - 1;
  // Groups begin at multiples of a strip.
  const bool isRun = tile.isRun && tile.places[0].slot % STRIP == 0;
  LOWBIT_ROLLED
  for (uint32_t unit = thread / 32; unit / STRIPS * 32 < padded; unit += ATTEND_WARPS) {
    const uint32_t channel = unit / STRIPS * 32 + thread % 32;
    const uint32_t first = unit % STRIPS * STRIP;
    const uint32_t count = leftOf(tile.count, first, STRIP);
    if (channel >= padded || count == 0) continue;
    if (channel >= tensor.headDim) {
      for (uint32_t i = 0; i < count; ++i) tile.rows[(first + i) * tile.stride + channel] = 0.0f;
    } else if (isRun) {
      const TokenPlace place = tile.places[first];
      const unsigned char* row = place.base + (tile.head * tensor.headBytes + channel * tensor.rowBytes);
      const GroupParameters numbers =
        parametersAt(tile, place.base + parameterBase(tensor, tile.head), place.entry + channel);
      LOWBIT_UNROLL
      for (uint32_t i = 0; i < STRIP; i += 4) {
        if (i >= count) break;
        const uint32_t live = leftOf(count, i, 4);
        const uint32_t codes = codesAt(row, (static_cast<uint32_t>(place.slot) + i) * bits, live * bits);
        LOWBIT_UNROLL
        for (uint32_t j = 0; j < 4; ++j)
          if (j < live) tile.rows[(first + i + j) * tile.stride + channel] = numbers.decode(tile.levels, codes >> bits * j & mask);
      }
    } else {
      decodeScattered(tile, channel, first, count);
    }
  }
}

}  // namespace lowbit
