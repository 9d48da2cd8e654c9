// Attention of one query token over any plan, in canonical pages: what decode.cuh has no instance for.
//
// A block decodes 32 tokens of a kv head at a time into shared memory, their keys and then their values, and meets them with some
// of the query heads that read it, all in f32. What it has seen stays in shared memory as well: a tile adds to it once.
#pragma once
#include "general-decode.cuh"
#include "general-join.cuh"
#include "general-rows.cuh"

namespace lowbit {

LOWBIT_INLINE float queryAt(const DecodeJob& job, uint64_t index) {
  if (job.queryType == QueryType::F32) return static_cast<const float*>(job.queries)[index];
  const uint32_t bits = static_cast<const uint16_t*>(job.queries)[index];
  return job.queryType == QueryType::F16 ? halfValue(bits) : floatOf(bits << 16);
}

/// One block: an item, a kv head, and the query heads from `firstQuery` on.
struct GeneralBlock {
  const DecodeJob& job;
  const GeneralAttention& plan;
  const Item& item;
  const BlockMemory memory;
  const uint32_t head;
  const uint32_t firstQuery;
  const ItemTokens tokens;

  LOWBIT_INLINE TokenPlace* places(const GeneralTensor& tensor) const {
    return reinterpret_cast<TokenPlace*>(memory.at(&tensor == &plan.key ? plan.keyPlaces : plan.valuePlaces));
  }

  LOWBIT_INLINE int* positions() const { return reinterpret_cast<int*>(memory.at(plan.positions)); }

  LOWBIT_INLINE TransformedRows rowsOf(
    const GeneralTensor& tensor, float* rows, uint32_t stride, uint32_t count, uint32_t scratch
  ) const {
    const bool isKey = &tensor == &plan.key;
    const auto* pages = reinterpret_cast<const uint16_t*>(isKey ? job.keyStatistics : job.valueStatistics);
    const int page = isKey ? item.keyStatistics : item.valueStatistics;
    uint64_t planes = 0;
    for (uint32_t i = 0; i < tensor.transformCount; ++i) planes += transformOf(tensor, i).plane != NO_PLANE ? 1 : 0;
    const uint64_t first = page < 0 ? 0 : page * planes * tensor.heads * tensor.headDim;
    return {tensor, pages + first, head, rows, stride, count, memory.at(scratch)};
  }

  LOWBIT_INLINE void prepare() const {
    inAllThreads<ATTEND_THREADS>([&](uint32_t thread) {
      clearSeen(memory, thread);
      for (uint32_t query = thread; query < memory.heads; query += ATTEND_THREADS) memory.at(plan.added)[query] = 0.0f;
      for (const GeneralTensor* tensor : {&plan.key, &plan.value}) {
        float* levels = memory.at(tensor == &plan.key ? plan.keyLevels : plan.valueLevels);
        const uint32_t count = tensor->bits == 16 ? 0 : 1u << tensor->bits;
        for (uint32_t code = thread; code < count; code += ATTEND_THREADS) levels[code] = levelOf(*tensor, code);
      }
      const uint64_t row = static_cast<uint64_t>(item.sequence) * plan.key.heads + head;
      const uint64_t first = (row * plan.groupHeads + firstQuery) * plan.key.headDim;
      for (uint32_t query = thread / 32; query < memory.heads; query += ATTEND_WARPS) {
        for (uint32_t channel = thread % 32; channel < 4 * plan.keyQuads; channel += 32) {
          const bool isThere = channel < plan.key.headDim;
          const float value = isThere ? queryAt(job, first + query * plan.key.headDim + channel) : 0.0f;
          memory.at(plan.queries)[4 * query * plan.keyQuads + channel] = value;
          if (plan.queriesTurn != 0) memory.at(plan.turned)[4 * query * plan.keyQuads + channel] = value;
        }
      }
    });
    // Nothing is packed before there are statistics.
    if (plan.queriesTurn != 0 && (plan.keyMeasured == 0 || item.keyStatistics >= 0))
      rowsOf(plan.key, memory.at(plan.turned), 4 * plan.keyQuads, memory.heads, plan.tile).turnQueries(memory.at(plan.added));
  }

  LOWBIT_INLINE void place(const TokenCursor& cursor, uint32_t count) const {
    const PlaceSource keys = {plan.key, job.keys, reinterpret_cast<const uint16_t*>(job.keyWindows),
                              reinterpret_cast<const uint16_t*>(job.keyInput), static_cast<uint32_t>(job.windowTokens), head};
    const PlaceSource values = {plan.value, job.values, reinterpret_cast<const uint16_t*>(job.valueWindows),
                                reinterpret_cast<const uint16_t*>(job.valueInput), static_cast<uint32_t>(job.windowTokens), head};
    inAllThreads<ATTEND_THREADS>([&](uint32_t thread) {
      if (thread >= count) return;
      TokenCursor own = cursor;
      tokens.skip(own, static_cast<int>(thread));
      tokens.place(own, keys, values, places(plan.key)[thread], places(plan.value)[thread], positions()[thread]);
    });
  }

  /// Decodes the tokens of a tile.
  LOWBIT_INLINE void decode(const GeneralTensor& tensor, uint32_t count) const {
    const DecodedRows rows = {memory.at(plan.tile), 4 * plan.tileQuads, places(tensor), count};
    const float* levels = memory.at(&tensor == &plan.key ? plan.keyLevels : plan.valueLevels);
    inAllThreads<ATTEND_THREADS>([&](uint32_t thread) {
      if (tensor.rowsAreChannels != 0) decodeChannelRows(tensor, levels, rows, head, thread);
      else decodeTokenRows(tensor, levels, rows, head, thread);
    });
    if (tensor.bits != 16 && tensor.mode == GeneralMode::BANDS)
      inAllThreads<ATTEND_THREADS>([&](uint32_t thread) { decodeBandOutliers(tensor, rows, head, thread); });
    if (tensor.topCount != 0)
      inAllThreads<ATTEND_THREADS>([&](uint32_t thread) { decodeTopOutliers(tensor, rows, head, thread); });
  }

  /// Keys that are held before the rotary embedding.
  LOWBIT_INLINE void turn(uint32_t count) const {
    const TransformedRows keys = rowsOf(plan.key, memory.at(plan.tile), 4 * plan.tileQuads, count, plan.scratch);
    const TokenPlace* own = places(plan.key);
    keys.undo([&](uint32_t token) { return own[token].isPacked(); }, [](uint32_t) { return 1.0f; });
    inAllThreads<ATTEND_THREADS>([&](uint32_t thread) { turnKeys(keys, positions(), thread); });
  }

  LOWBIT_INLINE void multiplyKeys(uint32_t count) const {
    inAllThreads<ATTEND_THREADS>([&](uint32_t thread) {
      const uint32_t token = thread % 32;
      if (token >= count) return;
      const bool isTurned = plan.queriesTurn != 0 && places(plan.key)[token].isPacked();
      const Quad* key = reinterpret_cast<const Quad*>(memory.at(plan.tile)) + token * plan.tileQuads;
      for (uint32_t unit = thread / 32; unit < memory.heads << plan.sliceBits; unit += ATTEND_WARPS) {
        const uint32_t query = unit >> plan.sliceBits;
        const uint32_t slice = unit & ((1u << plan.sliceBits) - 1);
        const Quad* row = reinterpret_cast<const Quad*>(memory.at(isTurned ? plan.turned : plan.queries)) + query * plan.keyQuads;
        const uint32_t last = (slice + 1) * plan.sliceQuads;
        const uint32_t end = last < plan.keyQuads ? last : plan.keyQuads;
        Quad sums = {};
        for (uint32_t i = slice * plan.sliceQuads; i < end; ++i) {
          const Quad k = key[i], q = row[i];
          LOWBIT_UNROLL
          for (uint32_t j = 0; j < 4; ++j) sums.lanes[j] = fusedOf(q.lanes[j], k.lanes[j], sums.lanes[j]);
        }
        memory.at(plan.dots)[(slice * plan.blockHeads + query) * TILE_TOKENS + token] =
          (sums.lanes[0] + sums.lanes[1]) + (sums.lanes[2] + sums.lanes[3]);
      }
    });
    inAllThreads<ATTEND_THREADS>([&](uint32_t thread) {
      for (uint32_t unit = thread; unit < memory.heads * TILE_TOKENS; unit += ATTEND_THREADS) {
        const uint32_t query = unit / TILE_TOKENS, token = unit % TILE_TOKENS;
        float logit = -INFINITY;
        if (token < count) {
          const bool isTurned = plan.queriesTurn != 0 && places(plan.key)[token].isPacked();
          float dot = isTurned ? memory.at(plan.added)[query] : 0.0f;
          for (uint32_t slice = 0; slice < 1u << plan.sliceBits; ++slice)
            dot += memory.at(plan.dots)[(slice * plan.blockHeads + query) * TILE_TOKENS + token];
          logit = dot * job.scale;
          if (job.softCap > 0.0f) logit = job.softCap * tanhf(logit / job.softCap);
        }
        memory.logit(query, token) = logit;
      }
    });
  }

  LOWBIT_INLINE void addValues() const {
    const uint32_t lanes = quadBits(plan.valueQuads);
    const uint32_t partTokens = TILE_TOKENS >> plan.partBits;
    inAllThreads<ATTEND_THREADS>([&](uint32_t thread) {
      const uint32_t firstQuad = thread & ((1u << lanes) - 1);
      for (uint32_t unit = thread >> lanes; unit < memory.heads << plan.partBits; unit += ATTEND_THREADS >> lanes) {
        const uint32_t query = unit >> plan.partBits;
        const uint32_t part = unit & ((1u << plan.partBits) - 1);
        const float decay = memory.at(plan.decay)[query];
        if (unit == query << plan.partBits && firstQuad == 0) memory.at(plan.largest)[query] = memory.at(plan.raised)[query];
        for (uint32_t kind = 0; kind < plan.kinds; ++kind) {
          const float* weights = memory.weights(kind, query) + part * partTokens;
          for (uint32_t quad = firstQuad; quad < plan.valueQuads; quad += 1u << lanes) {
            const Quad* values = reinterpret_cast<const Quad*>(memory.at(plan.tile)) + part * partTokens * plan.tileQuads + quad;
            Quad sum = memory.sum(kind, part, query)[quad];
            float weightSum = 0.0f;
            LOWBIT_UNROLL
            for (uint32_t j = 0; j < 4; ++j) sum.lanes[j] *= decay;
            for (uint32_t token = 0; token < partTokens; ++token) {
              const float weight = weights[token];
              // A weight of zero hides its value, which may be anything.
              if (weight == 0.0f) continue;
              const Quad value = values[token * plan.tileQuads];
              weightSum += weight;
              LOWBIT_UNROLL
              for (uint32_t j = 0; j < 4; ++j) sum.lanes[j] = fusedOf(weight, value.lanes[j], sum.lanes[j]);
            }
            memory.sum(kind, part, query)[quad] = sum;
            if (quad == 0) {
              float& all = memory.weightSum(kind, part, query);
              all = fusedOf(all, decay, weightSum);
            }
          }
        }
      }
    });
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
    if (plan.valueMeasured == 0 || item.valueStatistics >= 0) {
      const auto all = [](uint32_t) { return true; };
      rowsOf(plan.value, memory.sum(1, 0, 0)->lanes, dim, memory.heads, plan.tile)
        .undo(all, [&](uint32_t query) { return memory.weightSum(1, 0, query); });
    }
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
      const uint32_t heads = plan.groupHeads - first < plan.blockHeads ? plan.groupHeads - first : plan.blockHeads;
      joinSplits({memory.floats, plan, heads}, partials, splits, first, result);
    }
  }

  LOWBIT_INLINE void run(uint32_t block, uint32_t headBlocks) const {
    prepare();
    TokenCursor cursor = {0, 0, 0};
    while (!tokens.isEnd(cursor)) {
      TokenCursor next = cursor;
      const auto count = static_cast<uint32_t>(tokens.skip(next, TILE_TOKENS));
      place(cursor, count);
      decode(plan.key, count);
      if (plan.key.rotaryPairs != 0) turn(count);
      multiplyKeys(count);
      const TokenPlace* values = places(plan.value);
      weigh(memory, [&](uint32_t token) { return token < count && values[token].isPacked() ? 1u : 0u; });
      decode(plan.value, count);
      addValues();
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
  const Item item = job.itemTable[block];
  const uint32_t firstQuery = headBlock * plan.blockHeads;
  const uint32_t left = plan.groupHeads - firstQuery;
  const uint32_t heads = left < plan.blockHeads ? left : plan.blockHeads;
  const ItemTokens tokens = {job.pageTable + item.firstPage, job.restTable + item.firstRest, item.pages, item.rests};
  const GeneralBlock work = {job, plan, item, {shared, plan, heads}, head, firstQuery, tokens};
  work.run(block, headBlocks);
}

}  // namespace lowbit
