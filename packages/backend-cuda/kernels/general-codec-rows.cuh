// Decodes tokens whose groups a codec has encoded: whole groups to a thread.
#pragma once
#include "block.cuh"
#include "general-codec.cuh"
#include "general-decode.cuh"

namespace lowbit {

/// Groups along channels are decoded where they belong.
template <typename Codec>
LOWBIT_COLD void decodeChannelGroups(const DecodedRows& tile, uint32_t thread) {
  const GeneralTensor& tensor = tile.tensor;
  const uint32_t groups = tensor.headDim / Codec::SIZE;
  LOWBIT_ROLLED
  for (uint32_t unit = thread; unit < tile.count * groups; unit += ATTEND_THREADS) {
    const uint32_t token = unit / groups;
    const uint32_t group = unit % groups;
    const uint32_t channel = group * Codec::SIZE;
    const TokenPlace place = tile.places[token];
    float* to = tile.rows + token * tile.stride + channel;
    if (place.isPacked()) {
      Codec::decode(place.base + tile.head * tensor.headBytes + (place.entry + group) * Codec::BYTES, to);
      continue;
    }
    LOWBIT_ROLLED
    for (uint32_t i = 0; i < Codec::SIZE; ++i) to[i] = halfAt(place.base, channel + i);
  }
}

/// Groups along tokens: a thread has a channel, and holds the group that it decoded last.
template <typename Codec>
LOWBIT_COLD void decodeTokenGroups(const DecodedRows& tile, uint32_t thread) {
  const GeneralTensor& tensor = tile.tensor;
  LOWBIT_ROLLED
  for (uint32_t channel = thread; channel < tensor.headDim; channel += ATTEND_THREADS) {
    float values[Codec::SIZE];
    const unsigned char* held = nullptr;
    LOWBIT_ROLLED
    for (uint32_t token = 0; token < tile.count; ++token) {
      const TokenPlace place = tile.places[token];
      float& to = tile.rows[token * tile.stride + channel];
      if (!place.isPacked()) {
        to = halfAt(place.base, channel);
        continue;
      }
      const unsigned char* bytes = place.base + tile.head * tensor.headBytes + (place.entry + channel) * Codec::BYTES;
      if (bytes != held) Codec::decode(bytes, values);
      held = bytes;
      to = values[static_cast<uint32_t>(place.slot) % Codec::SIZE];
    }
  }
}

LOWBIT_INLINE void decodeCodecRows(const DecodedRows& tile, uint32_t thread) {
  const GeneralTensor& tensor = tile.tensor;
  SplicedCodecs::use(tensor.codec, [&](auto codec) {
    if (tensor.rowsAreChannels != 0) decodeTokenGroups<decltype(codec)>(tile, thread);
    else decodeChannelGroups<decltype(codec)>(tile, thread);
  });
  // Rows are whole quads.
  const uint32_t padding = (4 - tensor.headDim % 4) % 4;
  LOWBIT_ROLLED
  for (uint32_t unit = thread; unit < tile.count * padding; unit += ATTEND_THREADS)
    tile.rows[unit / padding * tile.stride + tensor.headDim + unit % padding] = 0.0f;
}

}  // namespace lowbit
