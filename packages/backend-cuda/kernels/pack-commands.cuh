// What a launch packs: tables in device memory, and the rows that they name.
//
// One table holds packs, then their spans; words are u32. No two packs of a launch are of the same page. Tables are the same for
// all layers whose pages have the same sizes: what they begin from is in the job.
//
//   pack, PACK_WORDS words                               span, SPAN_WORDS words: rows that lie at one stride
//     0, 1  bytes from job.pages to the piece of head 0     0     rows of the pack before it
//     2     first slot                                      1     elements from token to token
//     3     slots                                           2, 3  bytes from job.rows[source] to its first row, of head 0
//     4     word of its first span in the table             4     elements from head to head
//     5     spans                                           5     source: WINDOW_ROWS or INPUT_ROWS
//     6, 7  bytes from job.statistics to the page of the sequence; of meaning where the plan measures sequences
//
// 64-bit numbers have their low word first; rows are f16, their offsets and strides are multiples of 16 bytes. Rows of the input
// [token, head, channel] and of f16 window pages [head, token, channel] differ in their strides only. A pack is whole groups. One
// into slot 0 begins a page: it makes the parameters of all later slots 0.
#pragma once

#include "layout.cuh"
#include "halves.cuh"

namespace lowbit {

constexpr uint32_t PACK_WORDS = 8;
constexpr uint32_t SPAN_WORDS = 6;

enum RowSource : uint32_t { WINDOW_ROWS, INPUT_ROWS };

struct PackJob {
  const uint32_t* table;
  /// From the piece of a head to that of the next.
  uint64_t headBytes;
  unsigned char* pages;
  const unsigned char* rows[2];
  /// Null where the plan measures no sequences.
  const unsigned char* statistics;
};

LOWBIT_INLINE uint64_t longOf(uint32_t low, uint32_t high) {
  return static_cast<uint64_t>(high) << 32 | low;
}

/// 16 bytes of a row.
struct alignas(16) Chunk {
  uint32_t pairs[4];
};

struct Pack {
  const uint32_t* spans;
  uint32_t spanCount;
  uint32_t slot;
  uint32_t count;
  unsigned char* piece;
  const unsigned char* statistics;

  LOWBIT_INLINE Pack(const PackJob& job, uint32_t number, uint32_t head) {
    const uint32_t* words = job.table + number * PACK_WORDS;
    slot = words[2];
    count = words[3];
    spans = job.table + words[4];
    spanCount = words[5];
    piece = job.pages + longOf(words[0], words[1]) + head * job.headBytes;
    statistics = job.statistics == nullptr ? nullptr : job.statistics + longOf(words[6], words[7]);
#if defined(__CUDA_ARCH__)
    __builtin_assume(__isGlobal(piece));
#endif
  }

  /// Of no tokens: tables of graphs have room for more packs than there are.
  static LOWBIT_INLINE bool isEmpty(const PackJob& job, uint32_t number) { return job.table[number * PACK_WORDS + 3] == 0; }

  LOWBIT_INLINE bool has(uint32_t token) const { return token - slot < count; }

  /// Whether a token of a run is packed.
  LOWBIT_INLINE bool meets(uint32_t first, uint32_t tokens) const {
    return first < slot + count && slot < first + tokens;
  }
};

/// Rows of one head that lie at one stride.
struct Rows {
  const unsigned char* first;
  uint64_t strideBytes;

  LOWBIT_INLINE Rows(const PackJob& job, const uint32_t* span, uint32_t head) {
    strideBytes = 2 * static_cast<uint64_t>(span[1]);
    first = job.rows[span[5]] + longOf(span[2], span[3]) + 2 * static_cast<uint64_t>(head) * span[4];
  }

  LOWBIT_INLINE const unsigned char* at(uint32_t row) const { return first + row * strideBytes; }
};

/// The first channel of a packed token of a head.
LOWBIT_INLINE const unsigned char* rowOf(const PackJob& job, const Pack& pack, uint32_t token, uint32_t head) {
  const uint32_t row = token - pack.slot;
  const uint32_t* span = pack.spans;
  LOWBIT_ROLLED
  for (uint32_t i = 1; i < pack.spanCount && span[SPAN_WORDS] <= row; ++i) span += SPAN_WORDS;
  return Rows(job, span, head).at(row - span[0]);
}

/// Rows are read once.
LOWBIT_INLINE Chunk loadChunk(const unsigned char* address) {
#if defined(__CUDA_ARCH__)
  const uint4 words = __ldcs(reinterpret_cast<const uint4*>(address));
  return Chunk{{words.x, words.y, words.z, words.w}};
#else
  Chunk chunk;
  std::memcpy(&chunk, address, sizeof(Chunk));
  return chunk;
#endif
}

}  // namespace lowbit
