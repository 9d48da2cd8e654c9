// What attention reads and writes: tables of a step, pools of pages, results.
#pragma once
#include <cstdint>

struct __half;

namespace lowbit {

/// A run of tokens that both tensors hold in the same slots of packed pages.
struct PageEntry {
  int key;
  int value;
  /// Of the token in the first slot.
  int position;
  /// First slot, and 65536 times how many.
  int slots;
};

/// What one CTA of every kv head meets: pages, and tokens that are on none.
struct Item {
  int sequence;
  int firstPage;
  int pages;
  int firstRest;
  int rests;
  /// How many of those come first that a tensor has on a packed page.
  int packedRests;
  /// Number of the item among those of its sequence, which follow one another, and how many they are.
  int split;
  int splits;
  /// Statistics pages of the sequence, or -1.
  int keyStatistics;
  int valueStatistics;
  /// Of the first query token, and how many there are; where a kernel meets several, they are neighbour rows.
  int position;
  int queries;
};

/// Where a token that is on no page lies: 2^30 times where (0 packed page, 1 window page, 2 input), and its row: number of the
/// page times tokens of a page, plus its slot.
struct RestEntry {
  unsigned key;
  unsigned value;
  int position;
  int unused;
};

enum class QueryType : int { F32, F16, BF16 };

/// What a launch reads and writes. Page `id` of a pool holds its heads one after another.
struct DecodeJob {
  const uint8_t* keys;
  const uint8_t* values;
  /// f16 [page][kv head][slot][channel].
  const __half* keyWindows;
  const __half* valueWindows;
  /// f16 [row][kv head][channel].
  const __half* keyInput;
  const __half* valueInput;
  /// f16 [page][transform that takes statistics][kv head][channel].
  const __half* keyStatistics;
  const __half* valueStatistics;
  /// How many items there are; the grid may be larger.
  const int* items;
  const Item* itemTable;
  const PageEntry* pageTable;
  const RestEntry* restTable;
  /// [sequence][kv head][query head of it][channel], of `queryType`.
  const void* queries;
  /// [item][kv head][query head][channel], then maxima and sums.
  float* partials;
  /// [sequence][kv head]: 0 before and after.
  unsigned* arrivals;
  /// [sequence][kv head][query head of it][channel].
  float* output;
  /// [sequence][kv head][query head of it], natural, or null.
  float* logSumExp;
  int kvHeads;
  int windowTokens;
  /// Of the softmax, times log2(e).
  float scale;
  /// Of logits to base 2; 0 where there is none.
  float softCap;
  QueryType queryType;
  /// Of a kv head.
  int queryHeads;
};

/// Numbers of a tensor with outlier bands that all pages share.
struct BandTensor {
  /// Of a head of a page.
  int headBytes;
  float outerLow;
  float outerHigh;
  float innerLow;
  float innerHigh;
};

struct BandJob : DecodeJob {
  BandTensor key;
  BandTensor value;
};

static_assert(sizeof(BandJob) == sizeof(DecodeJob) + 2 * sizeof(BandTensor));

}  // namespace lowbit
