// Logits of packed keys.
#pragma once
#include "queries.cuh"

namespace lowbit {

/// Sum of a query over channels of `STEPS` steps from `first` on, as it was rounded: high bytes, low bytes.
template <PageLayout K, int STEPS>
__device__ __forceinline__ void sumQuery(int (&sum)[4], const Queries<K>& queries, int first) {
  const uint32_t a[4] = {0x01010101u, 0x01010101u, 0x01010101u, 0x01010101u};
#pragma unroll
  for (int i = 0; i < 4; i++) sum[i] = 0;
#pragma unroll
  for (int step = first; step < first + STEPS; step++)
    multiplySigned(sum, a, queries.bytes[2 * step], queries.bytes[2 * step + 1]);
}

/// Keys with groups along tokens: scales are folded into the query.
template <PageLayout K>
struct FoldedKeys {
  static_assert(!K.isHybrid, "folded scales have no modes");

  __device__ __forceinline__ void prepare(Queries<K>&, int) {}

  /// Logits, to base 2, of tokens 8 i + lane / 4 and head lane % 4.
  __device__ __forceinline__ void meet(float (&logits)[PAGE_TOKENS / 8], Queries<K>& queries, const uint8_t* page, int lane) const {
    constexpr int ROWS = rowsOfBlock(K.bits);
    constexpr int BLOCKS = K.groupSize / (8 * ROWS);
    float terms[K.groups()] = {};
    if constexpr (K.hasZero) middleTerms<K>(terms, queries, page, lane);
    const float unit = queries.measure(page, lane);
#pragma unroll
    for (int group = 0; group < K.groups(); group++) {
      queries.fold(page, group, lane);
      // Codes count from their middle.
      int ones[4];
      sumQuery<K, K.halves() / 2>(ones, queries, 0);
      const float term = terms[group];
#pragma unroll
      for (int block = group * BLOCKS; block < (group + 1) * BLOCKS; block++) {
        BlockWords<K> words;
        words.load(page, block, lane);
#pragma unroll
        for (int first = 0; first < ROWS; first += 2) {
          int sum[4];
#pragma unroll
          for (int i = 0; i < 4; i++) sum[i] = SIGNED_ZERO_BITS - (ones[i % 2] << (K.bits - 1 + rowShift<K.bits>(first + i / 2)));
#pragma unroll
          for (int step = 0; step < K.halves() / 2; step++) {
            uint32_t a[4];
            words.codes(a, first, step);
            multiplySigned(sum, a, queries.bytes[2 * step], queries.bytes[2 * step + 1]);
          }
#pragma unroll
          for (int row = 0; row < 2; row++) {
            const float factor = unit * rowFactor<K.bits>(first + row);
            const float high = __int_as_float(sum[2 * row]) - SIGNED_ZERO;
            const float low = __int_as_float(sum[2 * row + 1]) - SIGNED_ZERO;
            float& logit = logits[block * ROWS + first + row];
            if constexpr (K.hasZero) logit = fmaf(high, 256.0f * factor, fmaf(low, factor, term));
            else logit = fmaf(high, 256.0f, low) * factor;
          }
        }
      }
    }
  }
};

/// Keys with groups along channels: the query is prepared once, sums of groups are scaled. Codes around zero count from their
/// middle; the others meet zeros with the query as it was rounded.
template <PageLayout K>
struct GroupedKeys {
  static constexpr int GROUPS = K.groups();
  static constexpr int GROUP_STEPS = K.groupSize / 32;
  float unit;
  /// High and low bytes of the query in all, by group.
  float ones[GROUPS][2];

  __device__ __forceinline__ void prepare(Queries<K>& queries, int lane) {
    unit = queries.prepare(lane);
#pragma unroll
    for (int group = 0; group < GROUPS; group++) {
      int sum[4];
      sumQuery<K, GROUP_STEPS>(sum, queries, group * GROUP_STEPS);
      ones[group][0] = static_cast<float>(sum[0]), ones[group][1] = static_cast<float>(sum[1]);
    }
  }

  __device__ __forceinline__ void meet(float (&logits)[PAGE_TOKENS / 8], const Queries<K>& queries, const uint8_t* page, int lane) const {
    using Parameters = RowParameters<K>;
    constexpr int ROWS = Parameters::ROWS;
    constexpr int TOKEN_ROWS = PAGE_TOKENS / 8;
#pragma unroll
    for (int i = 0; i < TOKEN_ROWS; i++) logits[i] = 0.0f;
    // Every block has all channels: parameters of a group are loaded for as many tokens as blocks have at once.
#pragma unroll
    for (int block = 0; block < TOKEN_ROWS / ROWS; block++) {
      BlockWords<K> words;
      words.load(page, block, lane);
#pragma unroll
      for (int group = 0; group < GROUPS; group++) {
        Parameters parameters;
        parameters.load(page + K.scaleByte() + 2 * (group * PAGE_TOKENS + lane / 4 * TOKEN_ROWS + block * ROWS));
#pragma unroll
        for (int first = 0; first < ROWS; first += 2) {
          int sum[4] = {SIGNED_ZERO_BITS, SIGNED_ZERO_BITS, SIGNED_ZERO_BITS, SIGNED_ZERO_BITS};
#pragma unroll
          for (int step = group * GROUP_STEPS; step < (group + 1) * GROUP_STEPS; step++) {
            uint32_t a[4];
            words.codes(a, first, step);
            multiplySigned(sum, a, queries.bytes[2 * step], queries.bytes[2 * step + 1]);
          }
#pragma unroll
          for (int row = 0; row < 2; row++) {
            const float factor = rowFactor<K.bits>(first + row);
            const float middle = static_cast<float>(Parameters::MIDDLE) / factor;
            const float high = __int_as_float(sum[2 * row]) - fmaf(ones[group][0], middle, SIGNED_ZERO);
            const float low = __int_as_float(sum[2 * row + 1]) - fmaf(ones[group][1], middle, SIGNED_ZERO);
            float& logit = logits[block * ROWS + first + row];
            logit = fmaf(fmaf(high, 256.0f, low), parameters.scales[first + row] * factor, logit);
            if constexpr (K.hasZero)
              logit = fmaf(fmaf(ones[group][0], 256.0f, ones[group][1]), parameters.zeros[first + row], logit);
          }
        }
      }
    }
#pragma unroll
    for (int i = 0; i < TOKEN_ROWS; i++) logits[i] *= unit;
  }
};

}  // namespace lowbit
