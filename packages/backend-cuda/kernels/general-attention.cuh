// Attention over any plan: its numbers, and where a block keeps things in shared memory. src/general/attention-numbers.ts fills
// it in: kernels compute no sizes of their own.
#pragma once
#include "general-tensor.cuh"
#include "job.cuh"

namespace lowbit {

constexpr uint32_t ATTEND_THREADS = 256;
constexpr uint32_t ATTEND_WARPS = ATTEND_THREADS / 32;
/// Tokens that are decoded together, and splits that are joined together: one a lane.
constexpr uint32_t TILE_TOKENS = 32;
/// Query heads that a thread meets with what it has read once.
constexpr uint32_t HEADS_AT_ONCE = 4;

/// A block takes `blockHeads` query heads of a kv head. Rows are padded with zeros to whole quads of four floats. Places are in
/// floats of shared memory.
struct GeneralAttention {
  GeneralTensor key;
  GeneralTensor value;
  /// Query heads of a kv head.
  uint32_t groupHeads;
  uint32_t blockHeads;
  uint32_t keyQuads;
  uint32_t valueQuads;
  /// Of a row of the tile, odd: lanes with rows of their own meet no bank twice.
  uint32_t tileQuads;
  /// 2^sliceBits warps share a dot product, `sliceQuads` each.
  uint32_t sliceBits;
  uint32_t sliceQuads;
  /// 2^partBits threads share a sum of values, each with its part of the tokens.
  uint32_t partBits;
  /// 2, where sums of packed values are kept apart because their transforms are to be undone; else 1.
  uint32_t kinds;
  /// Queries meet packed keys in another form than f16 ones.
  uint32_t queriesTurn;
  /// Of a statistics page: how many transforms take statistics. Nothing is packed before a sequence has them.
  uint32_t keyPlanes;
  uint32_t valuePlanes;

  /// [query head][channel], as they come, and as packed keys meet them; what packed keys add to each dot product.
  uint32_t queries;
  uint32_t turned;
  uint32_t added;
  /// [token][channel] of keys, then of values.
  uint32_t tile;
  /// As the tile, for orders of channels.
  uint32_t scratch;
  /// [slice][query head][token].
  uint32_t dots;
  /// [query head][token], and [kind][query head][token].
  uint32_t logits;
  uint32_t weights;
  /// [kind][part][query head][channel], and without channels.
  uint32_t sums;
  uint32_t weightSums;
  /// [query head]: of all tokens seen, after the tile, and what the sums of before shrink by.
  uint32_t largest;
  uint32_t raised;
  uint32_t decay;
  /// Level tables.
  uint32_t keyLevels;
  uint32_t valueLevels;
  /// TokenPlace, at multiples of 16 bytes, and positions.
  uint32_t keyPlaces;
  uint32_t valuePlaces;
  uint32_t positions;
  uint32_t isLast;
  /// Of all of it.
  uint32_t sharedBytes;
};

/// Four channels.
struct alignas(16) Quad {
  float lanes[4];
};

}  // namespace lowbit
