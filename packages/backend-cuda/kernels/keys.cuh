// Logits of packed keys.
#pragma once
#include "queries.cuh"

namespace lowbit {

/// Keys with groups along tokens: scales are folded into the query.
template <PageLayout K>
struct FoldedKeys {
  Queries<K>& queries;

  __device__ __forceinline__ FoldedKeys(Queries<K>& queries, int) : queries(queries) {}

  /// Logits, to base 2, of tokens 8 i + lane / 4 and head lane % 4.
  __device__ __forceinline__ void meet(float (&logits)[PAGE_TOKENS / 8], const uint8_t* page, int lane) {
    constexpr int FIELDS = fieldsOfByte(K.bits);
    constexpr int STRIPE_TOKENS = 8 * FIELDS;
    float terms[K.groups()];
    middleTerms<K>(terms, queries, page, lane);
    const float unit = queries.measure(page, lane);
#pragma unroll
    for (int group = 0; group < K.groups(); group++) {
      queries.fold(page, group, lane);
      // The query in all, as it was rounded: codes count from their middle.
      int ones[4] = {0, 0, 0, 0};
#pragma unroll
      for (int step = 0; step < K.halves() / 2; step++) {
        const uint32_t a[4] = {0x01010101u, 0x01010101u, 0x01010101u, 0x01010101u};
        multiplySigned(ones, a, queries.bytes[2 * step], queries.bytes[2 * step + 1]);
      }
      const float term = terms[group];
#pragma unroll
      for (int s = 0; s < K.groupSize / STRIPE_TOKENS; s++) {
        const int stripe = group * (K.groupSize / STRIPE_TOKENS) + s;
        uint32_t words[K.halves()];
        loadStripe<K>(words, page, stripe, lane);
#pragma unroll
        for (int field = 0; field < FIELDS; field += 2) {
          int sum[4];
#pragma unroll
          for (int i = 0; i < 4; i++) sum[i] = SIGNED_ZERO_BITS - (ones[i % 2] << (K.bits - 1 + K.bits * (field + i / 2)));
#pragma unroll
          for (int step = 0; step < K.halves() / 2; step++) {
            uint32_t a[4];
            codesOf<K.bits>(a, field, words[2 * step], words[2 * step + 1]);
            multiplySigned(sum, a, queries.bytes[2 * step], queries.bytes[2 * step + 1]);
          }
#pragma unroll
          for (int row = 0; row < 2; row++) {
            const float factor = unit * fieldFactor<K.bits>(field + row);
            const float high = __int_as_float(sum[2 * row]) - SIGNED_ZERO;
            const float low = __int_as_float(sum[2 * row + 1]) - SIGNED_ZERO;
            logits[stripe * FIELDS + field + row] = fmaf(high, 256.0f * factor, fmaf(low, factor, term));
          }
        }
      }
    }
  }
};

/// Keys with groups along channels: the query is prepared once, sums of groups are scaled. Symmetric codes count from their
/// middle; the others meet zeros with the query as it was rounded.
template <PageLayout K>
struct GroupedKeys {
  static constexpr int GROUPS = K.groups();
  static constexpr int GROUP_STEPS = K.groupSize / 32;
  static constexpr float MIDDLE = K.hasZero ? 0.0f : static_cast<float>(1 << (K.bits - 1));
  const Queries<K>& queries;
  float unit;
  /// High and low bytes of the query in all, by group.
  float ones[GROUPS][2];

  __device__ __forceinline__ GroupedKeys(Queries<K>& queries, int lane) : queries(queries) {
    unit = queries.prepare(lane);
#pragma unroll
    for (int group = 0; group < GROUPS; group++) {
      int sum[4] = {0, 0, 0, 0};
#pragma unroll
      for (int step = group * GROUP_STEPS; step < (group + 1) * GROUP_STEPS; step++) {
        const uint32_t a[4] = {0x01010101u, 0x01010101u, 0x01010101u, 0x01010101u};
        multiplySigned(sum, a, queries.bytes[2 * step], queries.bytes[2 * step + 1]);
      }
      ones[group][0] = static_cast<float>(sum[0]), ones[group][1] = static_cast<float>(sum[1]);
    }
  }

  __device__ __forceinline__ void meet(float (&logits)[PAGE_TOKENS / 8], const uint8_t* page, int lane) {
    constexpr int FIELDS = fieldsOfByte(K.bits);
    constexpr int ROWS = PAGE_TOKENS / 8;
#pragma unroll
    for (int i = 0; i < ROWS; i++) logits[i] = 0.0f;
    // Every stripe has all channels: parameters of a group are loaded for as many tokens as stripes have at once.
#pragma unroll
    for (int stripe = 0; stripe < K.stripes(); stripe++) {
      uint32_t words[K.halves()];
      loadStripe<K>(words, page, stripe, lane);
#pragma unroll
      for (int group = 0; group < GROUPS; group++) {
        float scales[FIELDS], zeros[FIELDS];
        const uint8_t* plane = page + K.scaleByte() + 2 * (group * PAGE_TOKENS + lane / 4 * ROWS + stripe * FIELDS);
#pragma unroll
        for (int pair = 0; pair < FIELDS / 2; pair++) {
          const uint32_t s = reinterpret_cast<const uint32_t*>(plane)[pair];
          scales[2 * pair] = lowHalf(s), scales[2 * pair + 1] = highHalf(s);
          if constexpr (K.hasZero) {
            const uint32_t z = reinterpret_cast<const uint32_t*>(plane + K.zeroByte() - K.scaleByte())[pair];
            zeros[2 * pair] = lowHalf(z), zeros[2 * pair + 1] = highHalf(z);
          }
        }
#pragma unroll
        for (int field = 0; field < FIELDS; field += 2) {
          int sum[4] = {SIGNED_ZERO_BITS, SIGNED_ZERO_BITS, SIGNED_ZERO_BITS, SIGNED_ZERO_BITS};
#pragma unroll
          for (int step = group * GROUP_STEPS; step < (group + 1) * GROUP_STEPS; step++) {
            uint32_t a[4];
            codesOf<K.bits>(a, field, words[2 * step], words[2 * step + 1]);
            multiplySigned(sum, a, queries.bytes[2 * step], queries.bytes[2 * step + 1]);
          }
#pragma unroll
          for (int row = 0; row < 2; row++) {
            const float factor = fieldFactor<K.bits>(field + row);
            const float middle = MIDDLE / factor;
            const float high = __int_as_float(sum[2 * row]) - fmaf(ones[group][0], middle, SIGNED_ZERO);
            const float low = __int_as_float(sum[2 * row + 1]) - fmaf(ones[group][1], middle, SIGNED_ZERO);
            float& logit = logits[stripe * FIELDS + field + row];
            logit = fmaf(fmaf(high, 256.0f, low), scales[field + row] * factor, logit);
            if constexpr (K.hasZero) logit = fmaf(fmaf(ones[group][0], 256.0f, ones[group][1]), zeros[field + row], logit);
          }
        }
      }
    }
#pragma unroll
    for (int i = 0; i < ROWS; i++) logits[i] *= unit;
  }
};

}  // namespace lowbit
