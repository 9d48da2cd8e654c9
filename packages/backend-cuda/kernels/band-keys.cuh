// Logits of packed keys whose outliers are told apart by bands.
#pragma once
#include "band-pages.cuh"

namespace lowbit {

/// DIM / 4 elements of a query from `first` on, which is a multiple of 4. All are on their way together.
template <int COUNT>
__device__ __forceinline__ void loadRun(float (&x)[COUNT], const void* queries, QueryType type, size_t first) {
  if (type == QueryType::F32) {
#pragma unroll
    for (int i = 0; i < COUNT / 4; i++) {
      const float4 q = __ldg(static_cast<const float4*>(queries) + first / 4 + i);
      x[4 * i] = q.x, x[4 * i + 1] = q.y, x[4 * i + 2] = q.z, x[4 * i + 3] = q.w;
    }
    return;
  }
  uint2 pairs[COUNT / 4];
#pragma unroll
  for (int i = 0; i < COUNT / 4; i++) pairs[i] = __ldg(static_cast<const uint2*>(queries) + first / 4 + i);
#pragma unroll
  for (int i = 0; i < COUNT / 2; i++) {
    const uint32_t word = i % 2 == 0 ? pairs[i / 2].x : pairs[i / 2].y;
    x[2 * i] = type == QueryType::F16 ? lowHalf(word) : __uint_as_float(word << 16);
    x[2 * i + 1] = type == QueryType::F16 ? highHalf(word) : __uint_as_float(word & 0xffff0000u);
  }
}

/// The middle band of keys. A row of codes is DIM / 8 words; lane (g, t) multiplies words DIM / 32 t on of tokens g and g + 8: low
/// nibbles are even channels, high ones odd.
template <int DIM>
struct BandKeys {
  static constexpr int WORDS = DIM / 32;
  /// Bytes of the query of even and of odd channels of a word: high ones in lanes of even g, low ones in odd ones, of head g / 2.
  uint32_t even[WORDS], odd[WORDS];
  float unit;
  /// High and low bytes of the query of head lane % 4 in all.
  int ones[2];
  /// The query in all, and its product with the middle of the middle band.
  float sum, base;

  /// `firstRow`: of the queries of heads `heads` of a kv head.
  __device__ __forceinline__ void prepare(const DecodeJob& job, size_t firstRow, int heads, const BandTensor& tensor, int lane) {
    const int t = lane % 4, role = lane / 4 % 2;
    float x[DIM / 4];
    loadRun(x, job.queries, job.queryType, (firstRow + min(lane / 8, heads - 1)) * DIM + DIM / 4 * t);
    float largest = 0.0f;
#pragma unroll
    for (float& q : x) q *= job.scale, largest = fmaxf(largest, fabsf(q));
    largest = fmaxf(largest, __shfl_xor_sync(ALL, largest, 1));
    largest = fmaxf(largest, __shfl_xor_sync(ALL, largest, 2));
    const float inverse = largest > 1e-30f ? __fdividef(LARGEST_QUERY, largest) : 0.0f;
    // Both bytes over 128, so that they do not carry.
    constexpr float ZERO = SIGNED_ZERO + 32896.0f;
    const uint32_t selector = role == 0 ? 0x7531u : 0x6420u;
#pragma unroll
    for (int word = 0; word < WORDS; word++) {
      uint32_t v[8];
#pragma unroll
      for (int j = 0; j < 8; j++) v[j] = __float_as_uint(fmaf(x[8 * word + j], inverse, ZERO));
      even[word] = __byte_perm(__byte_perm(v[0], v[2], 0x5410), __byte_perm(v[4], v[6], 0x5410), selector) ^ 0x80808080u;
      odd[word] = __byte_perm(__byte_perm(v[1], v[3], 0x5410), __byte_perm(v[5], v[7], 0x5410), selector) ^ 0x80808080u;
    }
    unit = __shfl_sync(ALL, largest * (1.0f / LARGEST_QUERY), 8 * t);
    const uint32_t a[4] = {0x01010101u, 0x01010101u, 0x01010101u, 0x01010101u};
    int sums[4] = {};
#pragma unroll
    for (int word = 0; word < WORDS; word++) multiplySigned(sums, a, even[word], odd[word]);
    ones[0] = sums[0], ones[1] = sums[1];
    sum = unit * fmaf(256.0f, static_cast<float>(ones[0]), static_cast<float>(ones[1]));
    base = sum * 0.5f * (tensor.innerLow + tensor.innerHigh);
  }

  /// Logits, to base 2, of tokens 16 `number` + g and 8 more, head t.
  __device__ __forceinline__ void meet(float& upper, float& lower, const uint8_t* page, int number, const BandTensor& tensor, int lane) const {
    using Page = BandPage<DIM>;
    const int g = lane / 4, t = lane % 4;
    uint32_t words[2][WORDS];
#pragma unroll
    for (int row = 0; row < 2; row++) {
      const uint8_t* from = page + (16 * number + 8 * row + g) * Page::ROW_BYTES + 4 * WORDS * t;
      if constexpr (WORDS == 4) {
        const uint4 four = *reinterpret_cast<const uint4*>(from);
        words[row][0] = four.x, words[row][1] = four.y, words[row][2] = four.z, words[row][3] = four.w;
      } else {
        const uint2 two = *reinterpret_cast<const uint2*>(from);
        words[row][0] = two.x, words[row][1] = two.y;
      }
    }
    // Codes count from 8, sides from their middle.
    int codes[4], sides[4];
#pragma unroll
    for (int i = 0; i < 4; i++) codes[i] = SIGNED_ZERO_BITS - (ones[i % 2] << 3), sides[i] = SIGNED_ZERO_BITS - (ones[i % 2] << 2);
#pragma unroll
    for (int word = 0; word < WORDS; word++) {
      const uint32_t first = risingCodes(words[0][word]), second = risingCodes(words[1][word]);
      const uint32_t a[4] = {first & 0x0f0f0f0fu, second & 0x0f0f0f0fu, first >> 4 & 0x0f0f0f0fu, second >> 4 & 0x0f0f0f0fu};
      const uint32_t b[4] = {first & 0x08080808u, second & 0x08080808u, first >> 4 & 0x08080808u, second >> 4 & 0x08080808u};
      multiplySigned(codes, a, even[word], odd[word]);
      multiplySigned(sides, b, even[word], odd[word]);
    }
    const float gap = 0.125f * unit * (tensor.innerHigh - tensor.innerLow);
#pragma unroll
    for (int row = 0; row < 2; row++) {
      const float maximum = halfIn(page + Page::MIDDLE_MAXIMUM, 16 * number + 8 * row + g);
      const float code = fmaf(256.0f, __int_as_float(codes[2 * row]) - SIGNED_ZERO, __int_as_float(codes[2 * row + 1]) - SIGNED_ZERO);
      const float side = fmaf(256.0f, __int_as_float(sides[2 * row]) - SIGNED_ZERO, __int_as_float(sides[2 * row + 1]) - SIGNED_ZERO);
      (row == 0 ? upper : lower) = fmaf(0.125f * maximum, fmaf(unit, code, 0.5f * sum), fmaf(side, gap, base));
    }
  }
};

/// The query in two f16 parts, as it meets rows that ldmatrix loads: from Queries, whose lanes have four neighbour channels.
template <PageLayout K>
__device__ __forceinline__ void turnParts(Queries<K>& queries, int lane) {
  const int from = lane / 4 * 4 + lane % 4 / 2;
  const bool isUpper = lane % 2 == 1;
#pragma unroll
  for (int half = 0; half < K.halves(); half++) {
    uint32_t turned[2];
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const uint32_t low = __shfl_sync(ALL, queries.parts[half][0], from + 2 * i);
      const uint32_t high = __shfl_sync(ALL, queries.parts[half][1], from + 2 * i);
      turned[i] = isUpper ? high : low;
    }
    queries.parts[half][0] = turned[0], queries.parts[half][1] = turned[1];
  }
}

/// What outliers of keys add to the logits of 16 tokens, whose corrections lie in a tile. `queries`: with parts as turnParts leaves them.
template <PageLayout K>
__device__ __forceinline__ void meetKeyOutliers(float& upper, float& lower, const uint8_t* tile, const Queries<K>& queries, int lane) {
  using Tile = BandTile<K.headDim>;
  // Lanes 8 i + r: token r + 8 (i % 2), channels 8 (i / 2) on.
  const uint32_t first = sharedAddress(reinterpret_cast<const __half*>(tile) + Tile::at(lane % 16, lane / 16 * 8));
  float sums[4] = {};
#pragma unroll
  for (int half = 0; half < K.halves(); half++) {
    uint32_t a[4];
    loadMatrices(a, first ^ 32 * half);
    multiplyHalves(sums, a, queries.parts[half][0], queries.parts[half][1]);
  }
  upper = fmaf(sums[0] + sums[1], 1.0f / Tile::SHRINK, upper);
  lower = fmaf(sums[2] + sums[3], 1.0f / Tile::SHRINK, lower);
}

}  // namespace lowbit
