// Codes of a tile to the rows of a page: eight neighbours of a row at a time, which are whole bytes.
#pragma once
#include "general-bands.cuh"
#include "general-groups.cuh"

namespace lowbit {

constexpr uint32_t CODES_AT_ONCE = 8;

/// The low `count` bytes of some bits; no byte behind them is touched.
LOWBIT_INLINE void storeBytes(unsigned char* to, uint64_t bits, uint32_t count) {
  const auto address = reinterpret_cast<uintptr_t>(to);
  if (count == 8 && address % 4 == 0) {
    reinterpret_cast<uint32_t*>(to)[0] = static_cast<uint32_t>(bits);
    reinterpret_cast<uint32_t*>(to)[1] = static_cast<uint32_t>(bits >> 32);
  } else if (count == 4 && address % 4 == 0) {
    *reinterpret_cast<uint32_t*>(to) = static_cast<uint32_t>(bits);
  } else if (count == 2 && address % 2 == 0) {
    *reinterpret_cast<uint16_t*>(to) = static_cast<uint16_t>(bits);
  } else {
    LOWBIT_ROLLED
    for (uint32_t i = 0; i < count; ++i) to[i] = static_cast<unsigned char>(bits >> 8 * i);
  }
}

/// Codes of eight slots of a channel.
LOWBIT_INLINE void writeChannels(const GeneralTensor& tensor, const GeneralTile& tile, unsigned char* block) {
  const uint32_t dim = tile.dim;
  const uint32_t eights = tile.tokens / CODES_AT_ONCE;
  inAllThreads<GENERAL_THREADS>([&](uint32_t thread) {
    LOWBIT_ROLLED
    for (uint32_t i = thread; i < eights * dim; i += GENERAL_THREADS) {
      const uint32_t token = i / dim * CODES_AT_ONCE;
      const uint32_t channel = i % dim;
      const uint32_t slot = tile.firstSlot + token;
      const GeneralStep step = loadStep(tensor, block, parameterEntry(tensor, slot, channel));
      uint64_t bits = 0;
      LOWBIT_ROLLED
      for (uint32_t j = 0; j < CODES_AT_ONCE; ++j) {
        const auto code = static_cast<uint32_t>(codeOf(tensor, step, tile.at((token + j) * dim + channel)));
        bits |= static_cast<uint64_t>(code & ((1u << tensor.bits) - 1)) << tensor.bits * j;
      }
      storeBytes(block + channel * tensor.rowBytes + slot * tensor.bits / 8, bits, tensor.bits);
    }
  });
}

/// Codes of up to eight channels of a slot. `codes(slot, head)` gives a function of an element's value and channel.
template <typename Codes>
LOWBIT_INLINE void writeTokens(const GeneralTensor& tensor, const GeneralTile& tile, unsigned char* page, Codes codes) {
  const uint32_t eights = (tile.dim + CODES_AT_ONCE - 1) / CODES_AT_ONCE;
  inAllThreads<GENERAL_THREADS>([&](uint32_t thread) {
    LOWBIT_ROLLED
    for (uint32_t i = thread; i < eights * tile.rows(); i += GENERAL_THREADS) {
      const uint32_t row = i / eights;
      const uint32_t first = i % eights * CODES_AT_ONCE;
      const uint32_t count = tile.dim - first < CODES_AT_ONCE ? tile.dim - first : CODES_AT_ONCE;
      const uint32_t slot = tile.firstSlot + row / tile.heads;
      const uint32_t head = tile.firstHead + row % tile.heads;
      auto codeAt = codes(slot, head);
      uint64_t bits = 0;
      LOWBIT_ROLLED
      for (uint32_t j = 0; j < count; ++j) {
        const auto code = static_cast<uint32_t>(codeAt(tile.at(row * tile.dim + first + j), first + j));
        bits |= static_cast<uint64_t>(code & ((1u << tensor.bits) - 1)) << tensor.bits * j;
      }
      unsigned char* to = page + static_cast<uint64_t>(head) * tensor.headBytes + slot * tensor.rowBytes + first * tensor.bits / 8;
      storeBytes(to, bits, (count * tensor.bits + 7) / 8);
    }
  });
}

LOWBIT_INLINE void writeCodes(const GeneralJob& job, const GeneralTile& tile, unsigned char* page) {
  const GeneralTensor& tensor = job.tensor;
  if (tensor.mode == GeneralMode::BANDS) {
    writeTokens(tensor, tile, page, [&](uint32_t slot, uint32_t head) {
      const BandSteps steps(tensor, page + parameterBase(tensor, head), slot);
      return [&tensor, steps](float value, uint32_t) { return bandCode(tensor, steps, value) & 15; };
    });
    return;
  }
  unsigned char* block = page + static_cast<uint64_t>(tile.firstHead) * tensor.headBytes;
  if (tensor.rowsAreChannels != 0) {
    writeChannels(tensor, tile, block);
    return;
  }
  writeTokens(tensor, tile, page, [&](uint32_t slot, uint32_t) {
    uint32_t known = 0xffffffff;
    return [&tensor, block, slot, known, step = GeneralStep{}](float value, uint32_t channel) mutable {
      const uint32_t entry = parameterEntry(tensor, slot, channel);
      if (entry != known) step = loadStep(tensor, block, entry);
      known = entry;
      return codeOf(tensor, step, value);
    };
  });
}

}  // namespace lowbit
