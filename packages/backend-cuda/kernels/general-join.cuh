// Items of a query token become one in the last block of a kv head that comes to its end.
#pragma once
#include "general-weights.cuh"

namespace lowbit {

/// What other blocks have written.
LOWBIT_INLINE float loadFresh(const float* address) {
#if defined(__CUDA_ARCH__)
  return __ldcg(address);
#else
  return *address;
#endif
}

LOWBIT_INLINE void publish() {
#if defined(__CUDA_ARCH__)
  __threadfence();
#endif
}

/// Counts a block, and says how many came before.
LOWBIT_INLINE unsigned arrive(unsigned* arrivals) {
#if defined(__CUDA_ARCH__)
  return atomicAdd(arrivals, 1u);
#else
  return (*arrivals)++;
#endif
}

LOWBIT_INLINE float naturalLogSumExp(float largest, float sum) {
  return sum == 0.0f ? -INFINITY : (largest + log2f(sum)) * 0.693147180559945f;
}

/// Where the results of a query token and kv head go.
struct ResultRow {
  float* output;
  /// Or null.
  float* logSumExp;
  uint32_t valueDim;

  LOWBIT_INLINE void write(uint32_t query, uint32_t channel, float sum, float largest, float weightSum) const {
    output[query * valueDim + channel] = weightSum == 0.0f ? 0.0f : sum / weightSum;
    if (channel == 0 && logSumExp != nullptr) logSumExp[query] = naturalLogSumExp(largest, weightSum);
  }
};

/// Partial results of a kv head, one after another: [query head][channel], then maxima and sums.
struct PartialRows {
  float* first;
  /// Floats from split to split.
  uint64_t stride;
  uint32_t groupHeads;
  uint32_t valueDim;

  LOWBIT_INLINE float* output(uint32_t split, uint32_t query) const {
    return first + split * stride + query * valueDim;
  }
  LOWBIT_INLINE float* largest(uint32_t split, uint32_t query) const {
    return first + split * stride + groupHeads * valueDim + query;
  }
  LOWBIT_INLINE float* weightSum(uint32_t split, uint32_t query) const { return largest(split, query) + groupHeads; }
};

/// Joins the query heads from `firstQuery` on, 32 splits at a time.
LOWBIT_COLD inline void joinSplits(
  const BlockMemory& memory, const PartialRows& partials, uint32_t splits, uint32_t firstQuery, const ResultRow& result
) {
  const GeneralAttention& plan = memory.plan;
  const uint32_t valueDim = partials.valueDim;
  float* weightSums = memory.at(plan.dots);
  inAllThreads<ATTEND_THREADS>([&](uint32_t thread) { clearSeen(memory, thread); });
  for (uint32_t first = 0; first < splits; first += TILE_TOKENS) {
    const uint32_t count = splits - first < TILE_TOKENS ? splits - first : TILE_TOKENS;
    inAllThreads<ATTEND_THREADS>([&](uint32_t thread) {
      for (uint32_t unit = thread; unit < memory.heads * TILE_TOKENS; unit += ATTEND_THREADS) {
        const uint32_t query = unit / TILE_TOKENS, split = unit % TILE_TOKENS;
        const bool isThere = split < count;
        memory.logit(query, split) =
          isThere ? loadFresh(partials.largest(first + split, firstQuery + query)) : -INFINITY;
        weightSums[unit] = isThere ? loadFresh(partials.weightSum(first + split, firstQuery + query)) : 0.0f;
      }
    });
    weigh(memory, [](uint32_t) { return 0u; });
    inAllThreads<ATTEND_THREADS>([&](uint32_t thread) {
      for (uint32_t query = thread / 32; query < memory.heads; query += ATTEND_WARPS) {
        const float* shares = memory.weights(0, query);
        const float decay = memory.at(plan.decay)[query];
        float* sums = memory.sum(0, 0, query)->lanes;
        for (uint32_t channel = thread % 32; channel < valueDim; channel += 32) {
          float sum = sums[channel] * decay;
          for (uint32_t split = 0; split < count; ++split)
            sum = fusedOf(shares[split], loadFresh(partials.output(first + split, firstQuery + query) + channel), sum);
          sums[channel] = sum;
        }
        if (thread % 32 != 0) continue;
        float sum = memory.weightSum(0, 0, query) * decay;
        for (uint32_t split = 0; split < count; ++split)
          sum = fusedOf(shares[split], weightSums[query * TILE_TOKENS + split], sum);
        memory.weightSum(0, 0, query) = sum;
        memory.at(plan.largest)[query] = memory.at(plan.raised)[query];
      }
    });
  }
  inAllThreads<ATTEND_THREADS>([&](uint32_t thread) {
    for (uint32_t query = thread / 32; query < memory.heads; query += ATTEND_WARPS)
      for (uint32_t channel = thread % 32; channel < valueDim; channel += 32)
        result.write(firstQuery + query, channel, memory.sum(0, 0, query)->lanes[channel],
                     memory.at(plan.largest)[query], memory.weightSum(0, 0, query));
  });
}

}  // namespace lowbit
