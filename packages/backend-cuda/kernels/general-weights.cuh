// Softmax of what a block has seen: tiles of up to 32 logits of each query head, and what is relative to the largest of them.
#pragma once
#include "block.cuh"
#include "general-attention.cuh"

namespace lowbit {

/// To base 2.
LOWBIT_INLINE float powerOfTwo(float exponent) {
#if defined(__CUDA_ARCH__)
  return exp2f(exponent);
#else
  return std::exp2(exponent);
#endif
}

LOWBIT_INLINE float largerOf(float a, float b) {
  return fmaxf(a, b);
}

/// Shared memory by its names.
struct BlockMemory {
  float* floats;
  const GeneralAttention& plan;
  /// Query heads of this block.
  uint32_t heads;

  LOWBIT_INLINE float* at(uint32_t place) const { return floats + place; }

  /// Sum of values of a query head over a part of the tokens.
  LOWBIT_INLINE Quad* sum(uint32_t kind, uint32_t part, uint32_t query) const {
    const uint32_t row = ((kind << plan.partBits) + part) * plan.blockHeads + query;
    return reinterpret_cast<Quad*>(at(plan.sums)) + row * plan.valueQuads;
  }

  LOWBIT_INLINE float& weightSum(uint32_t kind, uint32_t part, uint32_t query) const {
    return at(plan.weightSums)[((kind << plan.partBits) + part) * plan.blockHeads + query];
  }

  LOWBIT_INLINE float& logit(uint32_t query, uint32_t token) const {
    return at(plan.logits)[query * TILE_TOKENS + token];
  }

  LOWBIT_INLINE float* weights(uint32_t kind, uint32_t query) const {
    return at(plan.weights) + (kind * plan.blockHeads + query) * TILE_TOKENS;
  }
};

/// Weights of all logits relative to the largest so far, which is `raised` from now on; `kindOf` says of which kind a token is.
template <typename Kind>
LOWBIT_INLINE void weigh(const BlockMemory& memory, Kind kindOf) {
  const GeneralAttention& plan = memory.plan;
  inAllThreads<ATTEND_THREADS>([&](uint32_t thread) {
    for (uint32_t unit = thread; unit < memory.heads * TILE_TOKENS; unit += ATTEND_THREADS) {
      const uint32_t query = unit / TILE_TOKENS, token = unit % TILE_TOKENS;
      const float before = memory.at(plan.largest)[query];
      float largest = before;
      const Quad* logits = reinterpret_cast<const Quad*>(&memory.logit(query, 0));
      for (uint32_t i = 0; i < TILE_TOKENS / 4; ++i) {
        const Quad quad = logits[i];
        largest = largerOf(largest, largerOf(largerOf(quad.lanes[0], quad.lanes[1]), largerOf(quad.lanes[2], quad.lanes[3])));
      }
      const float logit = memory.logit(query, token);
      // Where all are minus infinity there is nothing to weigh, unless it is no number.
      const bool isNothing = largest == -INFINITY && logit == -INFINITY;
      const float weight = isNothing ? 0.0f : powerOfTwo(logit - largest);
      const uint32_t own = plan.kinds == 1 ? 0 : kindOf(token);
      for (uint32_t kind = 0; kind < plan.kinds; ++kind) memory.weights(kind, query)[token] = kind == own ? weight : 0.0f;
      if (token == 0) {
        memory.at(plan.raised)[query] = largest;
        memory.at(plan.decay)[query] = before == largest ? 1.0f : powerOfTwo(before - largest);
      }
    }
  });
}

/// Clears what the block has seen. Threads clear what they add to later.
LOWBIT_INLINE void clearSeen(const BlockMemory& memory, uint32_t thread) {
  const GeneralAttention& plan = memory.plan;
  const uint32_t rows = (plan.kinds << plan.partBits) * plan.blockHeads;
  Quad* sums = memory.sum(0, 0, 0);
  for (uint32_t i = thread; i < rows * plan.valueQuads; i += ATTEND_THREADS) sums[i] = Quad{};
  for (uint32_t i = thread; i < rows; i += ATTEND_THREADS) memory.at(plan.weightSums)[i] = 0.0f;
  for (uint32_t i = thread; i < memory.heads; i += ATTEND_THREADS) memory.at(plan.largest)[i] = -INFINITY;
}

}  // namespace lowbit
