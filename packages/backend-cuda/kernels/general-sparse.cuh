// Outliers of decoded tokens, over what their codes say: those of bands, and top outliers.
#pragma once
#include "general-decode.cuh"

namespace lowbit {

/// Outer and inner elements of bands, over the middle ones.
LOWBIT_INLINE void decodeBandOutliers(const DecodedRows& tile, uint32_t thread) {
  const GeneralTensor& tensor = tile.tensor;
  const StoredType endType = tensor.endBytes == 4 ? StoredType::F32 : StoredType::F16;
  for (uint32_t unit = thread; unit < tile.count * tensor.chunks; unit += ATTEND_THREADS) {
    const uint32_t token = unit / tensor.chunks;
    const uint32_t chunk = unit % tensor.chunks;
    const TokenPlace place = tile.places[token];
    if (!place.isPacked()) continue;
    const auto slot = static_cast<uint32_t>(place.slot);
    const unsigned char* block = place.base + tile.head * tensor.headBytes;
    const uint32_t index = slot * tensor.chunks + chunk;
    const uint32_t end = loadStored(block + tensor.endsOffset, endType, index);
    uint32_t entry = index == 0 ? 0 : loadStored(block + tensor.endsOffset, endType, index - 1);
    if (entry == end) continue;
    const unsigned char* parameters = place.base + parameterBase(tensor, tile.head);
    const float outerMinimum = halfAt(parameters + tensor.outerMinimumOffset, slot);
    const float outerStep = halfAt(parameters + tensor.outerStepOffset, slot);
    const float innerMinimum = halfAt(parameters + tensor.innerMinimumOffset, slot);
    const float innerStep = halfAt(parameters + tensor.innerStepOffset, slot);
    LOWBIT_ROLLED
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
LOWBIT_INLINE void decodeTopOutliers(const DecodedRows& tile, uint32_t thread) {
  const GeneralTensor& tensor = tile.tensor;
  const StoredType channelType = tensor.topChannelBytes == 2 ? StoredType::F16 : StoredType::E4M3;
  for (uint32_t unit = thread; unit < tile.count * tensor.topCount; unit += ATTEND_THREADS) {
    const uint32_t token = unit / tensor.topCount;
    const TokenPlace place = tile.places[token];
    if (!place.isPacked()) continue;
    const uint32_t entry = static_cast<uint32_t>(place.slot) * tensor.topCount + unit % tensor.topCount;
    const unsigned char* block = place.base + tile.head * tensor.headBytes;
    const uint32_t channel = loadStored(block + tensor.topChannelsOffset, channelType, entry);
    tile.rows[token * tile.stride + channel] = halfAt(block + tensor.topValuesOffset, entry);
  }
}

}  // namespace lowbit
