// The products of a tile, for all query heads of a block: queries with keys, and weights with values.
//
// Reading the tile costs more than multiplying: a thread meets what it has read with four query heads.
#pragma once
#include "general-decode.cuh"
#include "general-weights.cuh"

namespace lowbit {

struct TileProducts {
  const BlockMemory& memory;
  const GeneralAttention& plan;

  LOWBIT_INLINE bool meetsTurned(uint32_t token) const {
    return plan.queriesTurn != 0 && reinterpret_cast<const TokenPlace*>(memory.at(plan.keyPlaces))[token].isPacked();
  }

  /// Dot products of the tokens of a tile with query heads from `query` on, over a slice of the channels.
  template <uint32_t HEADS>
  LOWBIT_INLINE void multiplySlice(uint32_t token, uint32_t query, uint32_t slice) const {
    const Quad* key = reinterpret_cast<const Quad*>(memory.at(plan.tile)) + token * plan.tileQuads;
    const uint32_t queries = meetsTurned(token) ? plan.turned : plan.queries;
    const Quad* rows = reinterpret_cast<const Quad*>(memory.at(queries)) + query * plan.keyQuads;
    const uint32_t first = slice * plan.sliceQuads;
    const uint32_t end = first + leftOf(plan.keyQuads, first, plan.sliceQuads);
    Quad sums[HEADS] = {};
    LOWBIT_ROLLED
    for (uint32_t i = first; i < end; ++i) {
      const Quad k = key[i];
      LOWBIT_UNROLL
      for (uint32_t h = 0; h < HEADS; ++h) {
        const Quad q = rows[h * plan.keyQuads + i];
        LOWBIT_UNROLL
        for (uint32_t j = 0; j < 4; ++j) sums[h].lanes[j] = fusedOf(q.lanes[j], k.lanes[j], sums[h].lanes[j]);
      }
    }
    float* dots = memory.at(plan.dots) + (slice * plan.blockHeads + query) * TILE_TOKENS + token;
    LOWBIT_UNROLL
    for (uint32_t h = 0; h < HEADS; ++h)
      dots[h * TILE_TOKENS] = (sums[h].lanes[0] + sums[h].lanes[1]) + (sums[h].lanes[2] + sums[h].lanes[3]);
  }

  /// Logits to base 2 of `count` tokens.
  LOWBIT_INLINE void multiplyKeys(uint32_t count, float scale, float softCap) const {
    inAllThreads<ATTEND_THREADS>([&](uint32_t thread) {
      const uint32_t token = thread % 32;
      if (token >= count) return;
      const uint32_t units = (memory.heads + HEADS_AT_ONCE - 1) / HEADS_AT_ONCE << plan.sliceBits;
      for (uint32_t unit = thread / 32; unit < units; unit += ATTEND_WARPS) {
        const uint32_t query = (unit >> plan.sliceBits) * HEADS_AT_ONCE;
        const uint32_t slice = unit & ((1u << plan.sliceBits) - 1);
        switch (memory.heads - query) {
          case 1: multiplySlice<1>(token, query, slice); break;
          case 2: multiplySlice<2>(token, query, slice); break;
          case 3: multiplySlice<3>(token, query, slice); break;
          default: multiplySlice<HEADS_AT_ONCE>(token, query, slice);
        }
      }
    });
    inAllThreads<ATTEND_THREADS>([&](uint32_t thread) {
      for (uint32_t unit = thread; unit < memory.heads * TILE_TOKENS; unit += ATTEND_THREADS) {
        const uint32_t query = unit / TILE_TOKENS, token = unit % TILE_TOKENS;
        float logit = -INFINITY;
        if (token < count) {
          float dot = meetsTurned(token) ? memory.at(plan.added)[query] : 0.0f;
          LOWBIT_ROLLED
          for (uint32_t slice = 0; slice < 1u << plan.sliceBits; ++slice)
            dot += memory.at(plan.dots)[(slice * plan.blockHeads + query) * TILE_TOKENS + token];
          logit = dot * scale;
          if (softCap > 0.0f) logit = softCap * tanhf(logit / softCap);
        }
        memory.logit(query, token) = logit;
      }
    });
  }

  /// Adds a part of a tile's values to the sums of query heads from `query` on: a quad of channels. `isThere`: there are tokens of
  /// the kind.
  template <uint32_t HEADS>
  LOWBIT_INLINE void addQuad(uint32_t kind, bool isThere, uint32_t part, uint32_t query, uint32_t quad) const {
    const uint32_t partTokens = TILE_TOKENS >> plan.partBits;
    const uint32_t first = part * partTokens;
    const Quad* values = reinterpret_cast<const Quad*>(memory.at(plan.tile)) + first * plan.tileQuads + quad;
    Quad sums[HEADS];
    LOWBIT_UNROLL
    for (uint32_t h = 0; h < HEADS; ++h) {
      const float decay = memory.at(plan.decay)[query + h];
      sums[h] = memory.sum(kind, part, query + h)[quad];
      LOWBIT_UNROLL
      for (uint32_t j = 0; j < 4; ++j) sums[h].lanes[j] *= decay;
    }
    LOWBIT_ROLLED
    for (uint32_t token = 0; isThere && token < partTokens; token += 4) {
      Quad weights[HEADS];
      LOWBIT_UNROLL
      for (uint32_t h = 0; h < HEADS; ++h)
        weights[h] = *reinterpret_cast<const Quad*>(memory.weights(kind, query + h) + first + token);
      LOWBIT_UNROLL
      for (uint32_t i = 0; i < 4; ++i) {
        const Quad value = values[(token + i) * plan.tileQuads];
        LOWBIT_UNROLL
        for (uint32_t h = 0; h < HEADS; ++h) {
          const float weight = weights[h].lanes[i];
          // A weight of zero hides its value, which may be anything.
          if (weight == 0.0f) continue;
          LOWBIT_UNROLL
          for (uint32_t j = 0; j < 4; ++j) sums[h].lanes[j] = fusedOf(weight, value.lanes[j], sums[h].lanes[j]);
        }
      }
    }
    LOWBIT_UNROLL
    for (uint32_t h = 0; h < HEADS; ++h) memory.sum(kind, part, query + h)[quad] = sums[h];
  }

  /// Adds a tile's weights, a part for each thread.
  LOWBIT_INLINE void addWeights(uint32_t thread) const {
    const uint32_t partTokens = TILE_TOKENS >> plan.partBits;
    for (uint32_t unit = thread; unit < memory.heads << plan.partBits; unit += ATTEND_THREADS) {
      const uint32_t query = unit >> plan.partBits;
      const uint32_t part = unit & ((1u << plan.partBits) - 1);
      if (part == 0) memory.at(plan.largest)[query] = memory.at(plan.raised)[query];
      for (uint32_t kind = 0; kind < plan.kinds; ++kind) {
        const float* weights = memory.weights(kind, query) + part * partTokens;
        float sum = 0.0f;
        LOWBIT_ROLLED
        for (uint32_t token = 0; token < partTokens; ++token) sum += weights[token];
        float& all = memory.weightSum(kind, part, query);
        all = fusedOf(all, memory.at(plan.decay)[query], sum);
      }
    }
  }

  /// `isPacked`: all tokens are.
  LOWBIT_INLINE void addValues(bool isPacked) const {
    const uint32_t lanes = laneBits(plan.valueQuads);
    const uint32_t units = (memory.heads + HEADS_AT_ONCE - 1) / HEADS_AT_ONCE << plan.partBits;
    inAllThreads<ATTEND_THREADS>([&](uint32_t thread) {
      addWeights(thread);
      for (uint32_t unit = thread >> lanes; unit < units; unit += ATTEND_THREADS >> lanes) {
        const uint32_t query = (unit >> plan.partBits) * HEADS_AT_ONCE;
        const uint32_t part = unit & ((1u << plan.partBits) - 1);
        for (uint32_t kind = 0; kind < plan.kinds; ++kind) {
          const bool isThere = plan.kinds == 1 || kind == 1 || !isPacked;
          for (uint32_t quad = thread & ((1u << lanes) - 1); quad < plan.valueQuads; quad += 1u << lanes) {
            switch (memory.heads - query) {
              case 1: addQuad<1>(kind, isThere, part, query, quad); break;
              case 2: addQuad<2>(kind, isThere, part, query, quad); break;
              case 3: addQuad<3>(kind, isThere, part, query, quad); break;
              default: addQuad<HEADS_AT_ONCE>(kind, isThere, part, query, quad);
            }
          }
        }
      }
    });
  }
};

}  // namespace lowbit
