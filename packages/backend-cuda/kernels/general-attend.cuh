// Attention of one query token over any plan, in canonical pages: what decode.cuh has no instance for.
//
// A block decodes 32 tokens of a kv head at a time into shared memory, their keys and then their values, and meets them with some
// of the query heads that read it, all in f32. What it has seen stays in shared memory as well: a tile adds to it once.
#pragma once
#include "general-codec-rows.cuh"
#include "general-join.cuh"
#include "general-products.cuh"
#include "general-rows.cuh"
#include "general-sparse.cuh"

namespace lowbit {

LOWBIT_INLINE float queryAt(const DecodeJob& job, uint64_t index) {
  if (job.queryType == QueryType::F32) return static_cast<const float*>(job.queries)[index];
  const uint32_t bits = static_cast<const uint16_t*>(job.queries)[index];
  return job.queryType == QueryType::F16 ? halfValue(bits) : floatOf(bits << 16);
}

/// One of the two tensors of a block.
struct TensorSide {
  TokenSource source;
  /// Page of the sequence, or null: then nothing is packed, if transforms take statistics at all.
  const uint16_t* statistics;
  bool isReady;
  float* levels;
  TokenPlace* places;

  LOWBIT_INLINE const GeneralTensor& tensor() const { return source.tensor; }

  LOWBIT_INLINE TransformedRows transformed(float* rows, uint32_t stride, uint32_t count, float* scratch) const {
    return {tensor(), statistics, source.head, rows, stride, count, scratch, nullptr};
  }
};

LOWBIT_INLINE const uint16_t* halvesOf(const __half* memory) { return reinterpret_cast<const uint16_t*>(memory); }

/// Null for page -1.
LOWBIT_INLINE const uint16_t* statisticsPage(const __half* pages, int page, uint32_t planes, const GeneralTensor& tensor) {
  const uint64_t halves = static_cast<uint64_t>(planes) * tensor.heads * tensor.headDim;
  return page < 0 ? nullptr : halvesOf(pages) + static_cast<uint32_t>(page) * halves;
}

/// One block: an item, a kv head, and the query heads from `firstQuery` on.
struct GeneralBlock {
  const DecodeJob& job;
  const GeneralAttention& plan;
  const Item& item;
  BlockMemory memory;
  uint32_t head;
  uint32_t firstQuery;
  ItemTokens tokens;

  LOWBIT_INLINE TensorSide keys() const {
    const auto windowTokens = static_cast<uint32_t>(job.windowTokens);
    const int page = item.keyStatistics;
    return {{plan.key, job.keys, halvesOf(job.keyWindows), halvesOf(job.keyInput), windowTokens, head},
            statisticsPage(job.keyStatistics, page, plan.keyPlanes, plan.key), plan.keyPlanes == 0 || page >= 0,
            memory.at(plan.keyLevels), reinterpret_cast<TokenPlace*>(memory.at(plan.keyPlaces))};
  }

  LOWBIT_INLINE TensorSide values() const {
    const auto windowTokens = static_cast<uint32_t>(job.windowTokens);
    const int page = item.valueStatistics;
    return {{plan.value, job.values, halvesOf(job.valueWindows), halvesOf(job.valueInput), windowTokens, head},
            statisticsPage(job.valueStatistics, page, plan.valuePlanes, plan.value), plan.valuePlanes == 0 || page >= 0,
            memory.at(plan.valueLevels), reinterpret_cast<TokenPlace*>(memory.at(plan.valuePlaces))};
  }

  LOWBIT_INLINE int* positions() const { return reinterpret_cast<int*>(memory.at(plan.positions)); }

  /// Level tables, queries, and nothing seen.
  LOWBIT_INLINE void prepare() const {
    inAllThreads<ATTEND_THREADS>([&](uint32_t thread) {
      clearSeen(memory, thread);
      for (uint32_t query = thread; query < memory.heads; query += ATTEND_THREADS) memory.at(plan.added)[query] = 0.0f;
      const auto fillLevels = [&](const TensorSide& side) {
        const GeneralTensor& tensor = side.tensor();
        if (!hasLevels(tensor)) return;
        for (uint32_t code = thread; code < tensor.levelCount; code += ATTEND_THREADS)
          side.levels[code] = floatsAt(tensor, tensor.levels)[code];
      };
      fillLevels(keys());
      fillLevels(values());
      const uint32_t dim = plan.key.headDim;
      const uint64_t row = static_cast<uint64_t>(item.sequence) * plan.key.heads + head;
      const uint64_t first = (row * plan.groupHeads + firstQuery) * dim;
      for (uint32_t query = thread / 32; query < memory.heads; query += ATTEND_WARPS) {
        const uint32_t to = 4 * query * plan.keyQuads;
        for (uint32_t channel = thread % 32; channel < 4 * plan.keyQuads; channel += 32) {
          const float number = channel < dim ? queryAt(job, first + query * dim + channel) : 0.0f;
          memory.at(plan.queries)[to + channel] = number;
          if (plan.queriesTurn != 0) memory.at(plan.turned)[to + channel] = number;
        }
      }
    });
    if (plan.queriesTurn != 0 && keys().isReady)
      keys().transformed(memory.at(plan.turned), 4 * plan.keyQuads, memory.heads, memory.at(plan.tile))
        .turnQueries(memory.at(plan.added));
  }

  LOWBIT_INLINE void prefetchPage(int page, uint32_t thread) const {
    if (page >= tokens.pageCount) return;
    const PageEntry entry = tokens.pages[page];
    keys().source.prefetchPage(static_cast<uint32_t>(entry.key), thread);
    values().source.prefetchPage(static_cast<uint32_t>(entry.value), thread);
  }

  LOWBIT_INLINE void place(const TokenCursor& cursor, uint32_t count) const {
    inAllThreads<ATTEND_THREADS>([&](uint32_t thread) {
      if (cursor.offset == 0) prefetchPage(cursor.page + 1, thread);
      if (thread >= count) return;
      TokenCursor own = cursor;
      tokens.skip(own, static_cast<int>(thread));
      const TensorSide key = keys(), value = values();
      tokens.place(own, key.source, value.source, key.places[thread], value.places[thread], positions()[thread]);
    });
  }

  /// Decodes the tokens of a tile.
  LOWBIT_INLINE void decode(const TensorSide& side, uint32_t count, bool isRun) const {
    const GeneralTensor& tensor = side.tensor();
    const float* levels = hasLevels(tensor) ? side.levels : nullptr;
    const DecodedRows rows = {tensor, head, memory.at(plan.tile), 4 * plan.tileQuads, side.places, count, isRun, levels};
    inAllThreads<ATTEND_THREADS>([&](uint32_t thread) {
      if (isCodec(tensor)) decodeCodecRows(rows, thread);
      else if (tensor.rowsAreChannels != 0) decodeChannelRows(rows, thread);
      else decodeTokenRows(rows, thread);
    });
    if (tensor.bits != 16 && tensor.mode == GeneralMode::BANDS)
      inAllThreads<ATTEND_THREADS>([&](uint32_t thread) { decodeBandOutliers(rows, thread); });
    if (tensor.topCount != 0) inAllThreads<ATTEND_THREADS>([&](uint32_t thread) { decodeTopOutliers(rows, thread); });
  }

  /// Keys that are held before the rotary embedding.
  LOWBIT_INLINE void turn(uint32_t count) const {
    TransformedRows rows = keys().transformed(memory.at(plan.tile), 4 * plan.tileQuads, count, memory.at(plan.scratch));
    rows.places = keys().places;
    rows.undo(nullptr);
    rows.places = nullptr;
    inAllThreads<ATTEND_THREADS>([&](uint32_t thread) { turnKeys(rows, positions(), thread); });
  }

  /// Parts and kinds of sums become one, the first.
  LOWBIT_INLINE void gather() const {
    const uint32_t dim = 4 * plan.valueQuads;
    inAllThreads<ATTEND_THREADS>([&](uint32_t thread) {
      for (uint32_t row = thread / 32; row < plan.kinds * memory.heads; row += ATTEND_WARPS) {
        const uint32_t kind = row / memory.heads, query = row % memory.heads;
        for (uint32_t channel = thread % 32; channel < dim; channel += 32) {
          float sum = 0.0f;
          for (uint32_t part = 0; part < 1u << plan.partBits; ++part) sum += memory.sum(kind, part, query)->lanes[channel];
          memory.sum(kind, 0, query)->lanes[channel] = sum;
        }
        if (thread % 32 != 0) continue;
        float sum = 0.0f;
        for (uint32_t part = 0; part < 1u << plan.partBits; ++part) sum += memory.weightSum(kind, part, query);
        memory.weightSum(kind, 0, query) = sum;
      }
    });
    if (plan.kinds == 1) return;
    if (values().isReady)
      values().transformed(memory.sum(1, 0, 0)->lanes, dim, memory.heads, memory.at(plan.tile))
        .undo(&memory.weightSum(1, 0, 0));
    inAllThreads<ATTEND_THREADS>([&](uint32_t thread) {
      for (uint32_t query = thread / 32; query < memory.heads; query += ATTEND_WARPS) {
        for (uint32_t channel = thread % 32; channel < dim; channel += 32)
          memory.sum(0, 0, query)->lanes[channel] += memory.sum(1, 0, query)->lanes[channel];
        if (thread % 32 == 0) memory.weightSum(0, 0, query) += memory.weightSum(1, 0, query);
      }
    });
  }

  LOWBIT_INLINE void leave(uint32_t block, uint32_t headBlocks) const {
    const uint32_t dim = plan.value.headDim;
    const uint64_t row = static_cast<uint64_t>(item.sequence) * plan.value.heads + head;
    const uint64_t results = row * plan.groupHeads;
    const ResultRow result = {job.output + results * dim, job.logSumExp == nullptr ? nullptr : job.logSumExp + results, dim};
    const uint64_t floats = static_cast<uint64_t>(plan.groupHeads) * (dim + 2);
    const uint64_t stride = floats * plan.value.heads;
    const auto splits = static_cast<uint32_t>(item.splits);
    const uint64_t firstBlock = block - static_cast<uint32_t>(item.split);
    const PartialRows partials = {job.partials + firstBlock * stride + head * floats, stride, plan.groupHeads, dim};
    const auto split = static_cast<uint32_t>(item.split);
    auto* isLast = reinterpret_cast<uint32_t*>(memory.at(plan.isLast));
    inAllThreads<ATTEND_THREADS>([&](uint32_t thread) {
      for (uint32_t query = thread / 32; query < memory.heads; query += ATTEND_WARPS) {
        const float* sums = memory.sum(0, 0, query)->lanes;
        const float largest = memory.at(plan.largest)[query], weightSum = memory.weightSum(0, 0, query);
        for (uint32_t channel = thread % 32; channel < dim; channel += 32) {
          if (splits == 1) result.write(firstQuery + query, channel, sums[channel], largest, weightSum);
          else partials.output(split, firstQuery + query)[channel] = sums[channel];
        }
        if (splits == 1 || thread % 32 != 0) continue;
        *partials.largest(split, firstQuery + query) = largest;
        *partials.weightSum(split, firstQuery + query) = weightSum;
      }
      publish();
    });
    if (splits == 1) return;
    inAllThreads<ATTEND_THREADS>([&](uint32_t thread) {
      if (thread != 0) return;
      const uint32_t last = splits * headBlocks - 1;
      *isLast = arrive(job.arrivals + row) == last ? 1 : 0;
      if (*isLast != 0) job.arrivals[row] = 0;
      publish();
    });
    if (*isLast == 0) return;
    for (uint32_t first = 0; first < plan.groupHeads; first += plan.blockHeads) {
      const uint32_t heads = leftOf(plan.groupHeads, first, plan.blockHeads);
      joinSplits({memory.floats, plan, heads}, partials, splits, first, result);
    }
  }

  LOWBIT_INLINE void run(uint32_t block, uint32_t headBlocks) const {
    inAllThreads<ATTEND_THREADS>([&](uint32_t thread) { prefetchPage(0, thread); });
    prepare();
    const TileProducts products = {memory, plan};
    TokenCursor cursor = {0, 0, 0};
    while (!tokens.isEnd(cursor)) {
      TokenCursor next = cursor;
      const auto count = static_cast<uint32_t>(tokens.skip(next, TILE_TOKENS));
      const bool isRun = tokens.isRun(cursor, count);
      place(cursor, count);
      decode(keys(), count, isRun);
      if (plan.key.rotaryPairs != 0) turn(count);
      products.multiplyKeys(count, job.scale, job.softCap);
      weigh(memory, [&](uint32_t token) { return token < count && values().places[token].isPacked() ? 1u : 0u; });
      decode(values(), count, isRun);
      products.addValues(isRun);
      cursor = next;
    }
    gather();
    leave(block, headBlocks);
  }
};

/// Grid: (items, kv heads, ceil(groupHeads / blockHeads)); ATTEND_THREADS threads. `shared` begins at a multiple of 16 bytes.
LOWBIT_INLINE void generalAttend(
  const DecodeJob& job, const GeneralAttention& plan, uint32_t block, uint32_t head, uint32_t headBlock, uint32_t headBlocks,
  float* shared
) {
  if (block >= static_cast<uint32_t>(*job.items)) return;
  const Item& item = job.itemTable[block];
  const uint32_t firstQuery = headBlock * plan.blockHeads;
  const BlockMemory memory = {shared, plan, leftOf(plan.groupHeads, firstQuery, plan.blockHeads)};
  const ItemTokens tokens = {job.pageTable + item.firstPage, job.restTable + item.firstRest, item.pages, item.rests};
  const GeneralBlock work = {job, plan, item, memory, head, firstQuery, tokens};
  work.run(block, headBlocks);
}

#if defined(__CUDACC__)
extern "C" __global__ void __launch_bounds__(ATTEND_THREADS, 3)
  general_attend(const __grid_constant__ DecodeJob job, const __grid_constant__ GeneralAttention plan) {
  extern __shared__ __align__(16) float generalMemory[];
  generalAttend(job, plan, blockIdx.x, blockIdx.y, blockIdx.z, gridDim.z, generalMemory);
}
#endif

}  // namespace lowbit
