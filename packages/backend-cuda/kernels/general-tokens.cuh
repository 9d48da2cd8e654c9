// The tokens of an item one after another, whether they come as runs of pages or one by one, and where each of them lies.
#pragma once
#include "general-attention.cuh"

namespace lowbit {

/// A token of one tensor and head.
struct alignas(16) TokenPlace {
  /// Page of a packed token, or the f16 row.
  const unsigned char* base;
  /// -1: f16.
  int slot;
  /// Entry of its parameters for channel 0.
  uint32_t entry;

  LOWBIT_INLINE bool isPacked() const { return slot >= 0; }
};

/// Where one has come in an item: `offset` tokens of a page, or behind the pages.
struct TokenCursor {
  int page;
  int offset;
  int rest;
};

constexpr uint32_t REST_ROW = (1u << 30) - 1;

LOWBIT_INLINE int slotCount(const PageEntry& entry) {
  return static_cast<int>(static_cast<uint32_t>(entry.slots) >> 16);
}

LOWBIT_INLINE void prefetch(const unsigned char* address) {
#if defined(__CUDA_ARCH__)
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
#else
  (void)address;
#endif
}

/// Where one tensor's tokens come from.
struct TokenSource {
  const GeneralTensor& tensor;
  const unsigned char* pages;
  const uint16_t* windows;
  const uint16_t* input;
  uint32_t windowTokens;
  uint32_t head;

  LOWBIT_INLINE TokenPlace packed(uint32_t page, uint32_t slot) const {
    const uint32_t groups = tensor.headDim / tensor.channelsPerGroup;
    const uint64_t first = static_cast<uint64_t>(page) * tensor.pageBytes;
    return {pages + first, static_cast<int>(slot), slot / tensor.tokensPerGroup * groups};
  }

  /// Asks for the block of the head of a page, one line a thread.
  LOWBIT_INLINE void prefetchPage(uint32_t page, uint32_t thread) const {
    constexpr uint32_t LINE = 128;
    const unsigned char* block = pages + static_cast<uint64_t>(page) * tensor.pageBytes + head * tensor.headBytes;
    for (uint32_t byte = LINE * thread; byte < tensor.headBytes; byte += LINE * ATTEND_THREADS) prefetch(block + byte);
  }

  LOWBIT_INLINE TokenPlace half(const uint16_t* rows, uint64_t row) const {
    return {reinterpret_cast<const unsigned char*>(rows + row * tensor.headDim), -1, 0};
  }

  /// By a word of a RestEntry.
  LOWBIT_INLINE TokenPlace rest(uint32_t word) const {
    const uint32_t row = word & REST_ROW;
    const uint32_t source = word >> 30;
    if (source == 0) return packed(row / tensor.blockTokens, row % tensor.blockTokens);
    if (source == 2) return half(input, static_cast<uint64_t>(row) * tensor.heads + head);
    const uint64_t rows = static_cast<uint64_t>(row / windowTokens) * tensor.heads + head;
    return half(windows, rows * windowTokens + row % windowTokens);
  }
};

struct ItemTokens {
  const PageEntry* pages;
  const RestEntry* rests;
  int pageCount;
  int restCount;

  LOWBIT_INLINE bool isEnd(const TokenCursor& cursor) const {
    return cursor.page == pageCount && cursor.rest == restCount;
  }

  /// Whether the next `count` tokens lie in slots of one page that follow one another.
  LOWBIT_INLINE bool isRun(const TokenCursor& cursor, uint32_t count) const {
    return cursor.page < pageCount && static_cast<int>(count) <= slotCount(pages[cursor.page]) - cursor.offset;
  }

  /// Goes on by up to `count` tokens, and says by how many.
  LOWBIT_INLINE int skip(TokenCursor& cursor, int count) const {
    int left = count;
    while (cursor.page < pageCount) {
      const int some = slotCount(pages[cursor.page]) - cursor.offset;
      if (left < some) {
        cursor.offset += left;
        return count;
      }
      left -= some;
      ++cursor.page;
      cursor.offset = 0;
    }
    const int some = restCount - cursor.rest < left ? restCount - cursor.rest : left;
    cursor.rest += some;
    return count - left + some;
  }

  /// Places of the token at the cursor.
  LOWBIT_INLINE void place(
    const TokenCursor& cursor, const TokenSource& keys, const TokenSource& values, TokenPlace& key, TokenPlace& value,
    int& position
  ) const {
    if (cursor.page < pageCount) {
      const PageEntry entry = pages[cursor.page];
      const uint32_t slot = (static_cast<uint32_t>(entry.slots) & 0xffff) + static_cast<uint32_t>(cursor.offset);
      key = keys.packed(static_cast<uint32_t>(entry.key), slot);
      value = values.packed(static_cast<uint32_t>(entry.value), slot);
      position = entry.position + cursor.offset;
    } else {
      const RestEntry entry = rests[cursor.rest];
      key = keys.rest(entry.key);
      value = values.rest(entry.value);
      position = entry.position;
    }
  }
};

}  // namespace lowbit
