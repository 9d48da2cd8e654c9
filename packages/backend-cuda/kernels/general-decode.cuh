// Decodes tokens of one head into rows of f32 in shared memory, as core's docs/law.md section 8 says.
#pragma once
#include "general-tokens.cuh"

namespace lowbit {

/// Rows of a tile, and what is in them.
struct DecodedRows {
  float* rows;
  /// Floats from row to row.
  uint32_t stride;
  const TokenPlace* places;
  uint32_t count;
};

/// What a code stands for, but for groups of hybrid tensors that are asymmetric.
LOWBIT_INLINE float levelOf(const GeneralTensor& tensor, uint32_t code) {
  switch (tensor.mode) {
    case GeneralMode::LEVELS:
    case GeneralMode::LEVELS_OVER_ZERO:
      return code < tensor.levelCount ? floatsAt(tensor, tensor.levels)[code] : 0.0f;
    case GeneralMode::SYMMETRIC:
    case GeneralMode::HYBRID: {
      const uint32_t half = 1u << (tensor.bits - 1);
      return static_cast<float>(static_cast<int>(code ^ half) - static_cast<int>(half));
    }
    default:
      return static_cast<float>(code);
  }
}

/// Parameters of a group.
struct GroupParameters {
  float scale;
  float zero;
  bool isAsymmetric;

  LOWBIT_INLINE float decode(const float* levels, uint32_t code) const {
    const float level = isAsymmetric ? static_cast<float>(code) : levels[code];
    return sumOf(productOf(level, scale), zero);
  }
};

LOWBIT_INLINE GroupParameters parametersAt(const GeneralTensor& tensor, const unsigned char* base, uint32_t entry) {
  GroupParameters group = {1.0f, 0.0f, false};
  if (tensor.scaleType != StoredType::NONE) {
    uint32_t bits = loadStored(base + tensor.scaleOffset, tensor.scaleType, entry);
    if (tensor.mode == GeneralMode::HYBRID) {
      const uint32_t sign = signOfScale(tensor.scaleType);
      group.isAsymmetric = (bits & sign) != 0;
      if (group.isAsymmetric) bits &= ~sign;
    }
    group.scale = storedValue(tensor.scaleType, bits);
  }
  if (tensor.zeroType != StoredType::NONE)
    group.zero = storedValue(tensor.zeroType, loadStored(base + tensor.zeroOffset, tensor.zeroType, entry));
  return group;
}

LOWBIT_INLINE float halfAt(const unsigned char* base, uint32_t index) {
  return halfValue(reinterpret_cast<const uint16_t*>(base)[index]);
}

/// Four channels of an f16 row, of which `live` are there.
LOWBIT_INLINE void loadHalves(const unsigned char* base, uint32_t channel, uint32_t live, Quad& quad) {
  const unsigned char* first = base + 2 * channel;
  if (live == 4 && reinterpret_cast<uintptr_t>(first) % 8 == 0) {
    struct alignas(8) Words {
      uint32_t low, high;
    };
    const Words words = *reinterpret_cast<const Words*>(first);
    quad = {{halfValue(words.low & 0xffff), halfValue(words.low >> 16), halfValue(words.high & 0xffff),
             halfValue(words.high >> 16)}};
    return;
  }
  LOWBIT_UNROLL
  for (uint32_t j = 0; j < 4; ++j) quad.lanes[j] = j < live ? halfAt(first, j) : 0.0f;
}

/// Codes of up to four channels, the first in the lowest bits: `width` bits from `bit` on of a row.
LOWBIT_INLINE uint32_t codesAt(const unsigned char* row, uint32_t bit, uint32_t width) {
  const uint32_t* words = reinterpret_cast<const uint32_t*>(row) + bit / 32;
  const uint32_t shift = bit % 32;
  uint32_t codes = words[0] >> shift;
  if (shift + width > 32) codes |= words[1] << (32 - shift);
  return codes;
}

/// Middle elements of outlier bands: the others lie over them.
LOWBIT_INLINE void decodeMiddle(
  const GeneralTensor& tensor, const unsigned char* parameters, uint32_t slot, uint32_t codes, Quad& quad
) {
  const float first = halfAt(parameters + tensor.middleOffset, slot);
  const float step = tensor.midRise != 0 ? productOf(first, 0.0625f) : halfAt(parameters + tensor.middleStepOffset, slot);
  LOWBIT_UNROLL
  for (uint32_t j = 0; j < 4; ++j) {
    const uint32_t nibble = codes >> 4 * j & 15;
    if (tensor.midRise != 0) {
      const float magnitude = productOf(static_cast<float>(2 * (nibble & 7) + 1), step);
      quad.lanes[j] =
        (nibble & 8) == 0 ? sumOf(tensor.innerHigh, magnitude) : differenceOf(tensor.innerLow, magnitude);
    } else {
      const float shift = sumOf(productOf(static_cast<float>(nibble), step), first);
      quad.lanes[j] = sumOf(shift < 0.0f ? tensor.innerLow : tensor.innerHigh, shift);
    }
  }
}

/// Threads that decode neighbouring quads of a token, as a power of two: up to a warp.
LOWBIT_INLINE uint32_t quadBits(uint32_t quads) {
  uint32_t bits = 5;
  while (bits > 0 && 1u << (bits - 1) >= quads) --bits;
  return bits;
}

/// Rows of codes are tokens: a thread takes the same quads of channels in several tokens.
LOWBIT_INLINE void decodeTokenRows(
  const GeneralTensor& tensor, const float* levels, const DecodedRows& tile, uint32_t head, uint32_t thread
) {
  const uint32_t quads = (tensor.headDim + 3) / 4;
  const uint32_t lanes = quadBits(quads);
  const uint32_t mask = (1u << tensor.bits) - 1;
  const uint64_t headAt = static_cast<uint64_t>(head) * tensor.headBytes;
  const uint64_t parametersAtHead = parameterBase(tensor, head);
  for (uint32_t quadNumber = thread & ((1u << lanes) - 1); quadNumber < quads; quadNumber += 1u << lanes) {
    const uint32_t channel = 4 * quadNumber;
    const uint32_t live = tensor.headDim - channel < 4 ? tensor.headDim - channel : 4;
    const uint32_t group = tensor.bits == 16 ? 0 : channel / tensor.channelsPerGroup;
    const uint32_t within = channel - group * tensor.channelsPerGroup;
    for (uint32_t token = thread >> lanes; token < tile.count; token += ATTEND_THREADS >> lanes) {
      const TokenPlace place = tile.places[token];
      Quad quad = {};
      if (!place.isPacked()) {
        loadHalves(place.base, channel, live, quad);
      } else {
        const unsigned char* row = place.base + headAt + static_cast<uint32_t>(place.slot) * tensor.rowBytes;
        uint32_t codes = codesAt(row, channel * tensor.bits, live * tensor.bits);
        const unsigned char* parameters = place.base + parametersAtHead;
        if (tensor.mode == GeneralMode::BANDS) {
          decodeMiddle(tensor, parameters, static_cast<uint32_t>(place.slot), codes, quad);
          for (uint32_t j = live; j < 4; ++j) quad.lanes[j] = 0.0f;
        } else {
          uint32_t entry = place.entry + group;
          uint32_t at = within;
          GroupParameters numbers = parametersAt(tensor, parameters, entry);
          LOWBIT_UNROLL
          for (uint32_t j = 0; j < 4; ++j, ++at, codes >>= tensor.bits) {
            if (j >= live) continue;
            if (at == tensor.channelsPerGroup) {
              at = 0;
              numbers = parametersAt(tensor, parameters, ++entry);
            }
            quad.lanes[j] = numbers.decode(levels, codes & mask);
          }
        }
      }
      reinterpret_cast<Quad*>(tile.rows + token * tile.stride)[quadNumber] = quad;
    }
  }
}

/// Rows of codes are channels: a thread takes one channel of eight tokens, which mostly share words and parameters.
LOWBIT_INLINE void decodeChannelRows(
  const GeneralTensor& tensor, const float* levels, const DecodedRows& tile, uint32_t head, uint32_t thread
) {
  constexpr uint32_t RUN = 8;
  constexpr uint32_t RUNS = TILE_TOKENS / RUN;
  const uint32_t padded = (tensor.headDim + 3) / 4 * 4;
  const uint32_t bits = tensor.bits;
  const uint32_t mask = (1u << bits) - 1;
  const uint64_t parametersAtHead = parameterBase(tensor, head);
  for (uint32_t unit = thread / 32; unit / RUNS * 32 < padded; unit += ATTEND_WARPS) {
    const uint32_t channel = unit / RUNS * 32 + thread % 32;
    const uint32_t first = unit % RUNS * RUN;
    const uint32_t end = tile.count - first < RUN ? tile.count : first + RUN;
    if (channel >= padded || first >= tile.count) continue;
    const bool isLive = channel < tensor.headDim;
    const uint64_t rowAt = static_cast<uint64_t>(head) * tensor.headBytes + channel * tensor.rowBytes;
    // What was read last.
    const uint32_t* heldWord = nullptr;
    const unsigned char* heldBase = nullptr;
    uint32_t heldEntry = 0;
    uint32_t word = 0;
    GroupParameters numbers = {};
    for (uint32_t token = first; token < end; ++token) {
      const TokenPlace place = tile.places[token];
      float value = 0.0f;
      if (isLive && !place.isPacked()) {
        value = halfAt(place.base, channel);
      } else if (isLive) {
        const uint32_t bit = static_cast<uint32_t>(place.slot) * bits;
        const uint32_t* at = reinterpret_cast<const uint32_t*>(place.base + rowAt) + bit / 32;
        if (at != heldWord) {
          word = *at;
          heldWord = at;
        }
        if (place.base != heldBase || place.entry != heldEntry) {
          numbers = parametersAt(tensor, place.base + parametersAtHead, place.entry + channel);
          heldBase = place.base;
          heldEntry = place.entry;
        }
        uint32_t code = word >> bit % 32;
        if (bit % 32 + bits > 32) code |= at[1] << (32 - bit % 32);
        value = numbers.decode(levels, code & mask);
      }
      tile.rows[token * tile.stride + channel] = value;
    }
  }
}

/// Outer and inner elements of bands, over the middle ones.
LOWBIT_INLINE void decodeBandOutliers(
  const GeneralTensor& tensor, const DecodedRows& tile, uint32_t head, uint32_t thread
) {
  for (uint32_t unit = thread; unit < tile.count * tensor.chunks; unit += ATTEND_THREADS) {
    const uint32_t token = unit / tensor.chunks;
    const uint32_t chunk = unit % tensor.chunks;
    const TokenPlace place = tile.places[token];
    if (!place.isPacked()) continue;
    const auto slot = static_cast<uint32_t>(place.slot);
    const unsigned char* block = place.base + static_cast<uint64_t>(head) * tensor.headBytes;
    const unsigned char* ends = block + tensor.endsOffset;
    const StoredType endType = tensor.endBytes == 4 ? StoredType::F32 : StoredType::F16;
    const uint32_t index = slot * tensor.chunks + chunk;
    const uint32_t end = loadStored(ends, endType, index);
    uint32_t entry = index == 0 ? 0 : loadStored(ends, endType, index - 1);
    if (entry == end) continue;
    const unsigned char* parameters = place.base + parameterBase(tensor, head);
    const float outerMinimum = halfAt(parameters + tensor.outerMinimumOffset, slot);
    const float outerStep = halfAt(parameters + tensor.outerStepOffset, slot);
    const float innerMinimum = halfAt(parameters + tensor.innerMinimumOffset, slot);
    const float innerStep = halfAt(parameters + tensor.innerStepOffset, slot);
    for (; entry < end; ++entry) {
      const uint32_t byte = block[tensor.outliersOffset + entry];
      const uint32_t channel = chunk * OUTLIER_CHUNK + (byte & 63);
      const uint32_t nibble = block[slot * tensor.rowBytes + channel / 2] >> 4 * (channel % 2) & 15;
      const uint32_t fifth = byte >> 7;
      float value;
      if ((byte & 64) != 0) {
        const float magnitude = sumOf(productOf(static_cast<float>(nibble), outerStep), outerMinimum);
        value = fifth != 0 ? differenceOf(tensor.outerLow, magnitude) : sumOf(tensor.outerHigh, magnitude);
      } else {
        value = sumOf(productOf(static_cast<float>(nibble | fifth << 4), innerStep), innerMinimum);
      }
      tile.rows[token * tile.stride + channel] = value;
    }
  }
}

/// The largest magnitudes of a token, over its codes.
LOWBIT_INLINE void decodeTopOutliers(
  const GeneralTensor& tensor, const DecodedRows& tile, uint32_t head, uint32_t thread
) {
  for (uint32_t unit = thread; unit < tile.count * tensor.topCount; unit += ATTEND_THREADS) {
    const uint32_t token = unit / tensor.topCount;
    const TokenPlace place = tile.places[token];
    if (!place.isPacked()) continue;
    const uint32_t entry = static_cast<uint32_t>(place.slot) * tensor.topCount + unit % tensor.topCount;
    const unsigned char* block = place.base + static_cast<uint64_t>(head) * tensor.headBytes;
    const StoredType channelType = tensor.topChannelBytes == 2 ? StoredType::F16 : StoredType::E4M3;
    const uint32_t channel = loadStored(block + tensor.topChannelsOffset, channelType, entry);
    tile.rows[token * tile.stride + channel] = halfAt(block + tensor.topValuesOffset, entry);
  }
}

}  // namespace lowbit
