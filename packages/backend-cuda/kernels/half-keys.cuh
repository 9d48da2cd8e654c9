// Packed keys with small groups along tokens, met in f16: a scale is folded into the query with one product a pair of channels, where
// two bytes of integers take a dozen instructions for each group. Codes are A (half-codes.cuh), queries in two f16 parts are B.
#pragma once
#include "half-codes.cuh"
#include "queries.cuh"

namespace lowbit {

/// `use(half, first, second)` with parameters of lane t as B has them, of every 16 reduced elements. `plane`: of a group.
template <int HALVES, class Use>
__device__ __forceinline__ void forPairs(const uint8_t* plane, int t, Use use) {
#pragma unroll
  for (int two = 0; two < HALVES / 2; two++) {
    const uint4 x = reinterpret_cast<const uint4*>(plane)[t * (HALVES / 2) + two];
    use(2 * two, x.x, x.y);
    use(2 * two + 1, x.z, x.w);
  }
}

template <PageLayout K>
struct HalfKeys {
  static_assert(K.isMetInHalves());
  static constexpr int HALVES = K.halves();
  /// Codes count from their mean, which need not be one.
  static constexpr float MIDDLE = 0.5f * static_cast<float>((1 << K.bits) - 1);
  /// High parts of head g / 2 in lanes of even g, low parts in odd ones, less than 1: channels 4 t and 4 t + 2, then 4 t + 1 and 4 t + 3.
  uint32_t parts[HALVES][2];
  /// What queries of head lane % 4 were divided by.
  float unit;

  /// Once. Divides queries by a power of two: no f16 scale makes their products infinite.
  __device__ __forceinline__ void prepare(const Queries<K>& queries, int lane) {
    uint32_t pairs = 0;
#pragma unroll
    for (const auto& half : queries.parts) pairs = maxOfPairs(pairs, maxOfPairs(half[0] & 0x7fff7fffu, half[1] & 0x7fff7fffu));
    uint32_t largest = max(pairs & 0xffffu, pairs >> 16);
#pragma unroll
    for (int mask = 1; mask <= 4; mask *= 2) largest = max(largest, __shfl_xor_sync(ALL, largest, mask));
    const uint32_t exponent = largest >> 10;
    const float inverse = __uint_as_float((127 + 14 - exponent) << 23);
    unit = __shfl_sync(ALL, __uint_as_float((127 - 14 + exponent) << 23), lane % 4 * 8);
#pragma unroll
    for (int half = 0; half < HALVES; half++) {
      const uint32_t first = queries.parts[half][0], second = queries.parts[half][1];
      parts[half][0] = pairOfHalves(lowHalf(first) * inverse, lowHalf(second) * inverse);
      parts[half][1] = pairOfHalves(highHalf(first) * inverse, highHalf(second) * inverse);
    }
  }

  /// Logits, to base 2, of tokens 8 i + lane / 4 and head lane % 4.
  __device__ __forceinline__ void meet(float (&logits)[PAGE_TOKENS / 8], const Queries<K>&, const uint8_t* page, int lane) const {
    constexpr int ROWS = rowsOfBlock(K.bits);
    constexpr int BLOCKS = K.groupSize / (8 * ROWS);
    const int g = lane / 4, t = lane % 4;
    // Products with zeros of groups, which are rows 0 to 3, and with their scales: their sum has more digits than f16.
    float products[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    const uint8_t* plane = page + (g < 4 ? K.zeroByte() : K.scaleByte()) + 2 * (g % K.groups()) * K.headDim;
    forPairs<HALVES>(plane, t, [&](int half, uint32_t first, uint32_t second) {
      const uint32_t a[4] = {first, 0u, second, 0u};
      multiplyHalves(products, a, parts[half][0], parts[half][1]);
    });
    const float own = products[0] + products[1];
    const float middle = fmaf(__shfl_xor_sync(ALL, own, 16), MIDDLE, own);
#pragma unroll
    for (int group = 0; group < K.groups(); group++) {
      uint32_t folded[HALVES][2];
      float rounded[4] = {0.0f, 0.0f, 0.0f, 0.0f};
      forPairs<HALVES>(page + K.scaleByte() + 2 * group * K.headDim, t, [&](int half, uint32_t first, uint32_t second) {
        folded[half][0] = multipliedPairs(parts[half][0], first);
        folded[half][1] = multipliedPairs(parts[half][1], second);
      });
      float term = __shfl_sync(ALL, middle, 4 * group + t);
#pragma unroll
      for (int block = group * BLOCKS; block < (group + 1) * BLOCKS; block++) {
        BlockWords<K> words;
        words.load(page, block, lane);
        // Chains of products run side by side.
        float sums[ROWS / 2][4] = {};
#pragma unroll
        for (int half = 0; half < HALVES; half++) {
#pragma unroll
          for (int two = 0; two < ROWS / 2; two++) {
            uint32_t a[4];
            rowsOfFields<K.bits>(a, words.words[half], 2 * two);
            multiplyHalves(sums[two], a, folded[half][0], folded[half][1]);
          }
          if (block == group * BLOCKS) {
            constexpr uint32_t a[4] = {ONES, ONES, ONES, ONES};
            multiplyHalves(rounded, a, folded[half][0], folded[half][1]);
          }
        }
        if (block == group * BLOCKS) term = fmaf(rounded[0] + rounded[1], -MIDDLE, term) * unit;
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
          const float factor = unit * (rowFactor<K.bits>(row) / CODE_UNIT);
          const float(&sum)[4] = sums[row / 2];
          logits[block * ROWS + row] = fmaf(sum[row % 2 * 2] + sum[row % 2 * 2 + 1], factor, term);
        }
      }
    }
  }
};

}  // namespace lowbit
