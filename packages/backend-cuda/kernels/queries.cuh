// Queries as they meet keys: 16-bit integers in two bytes, and two f16 parts.
#pragma once
#include "codes.cuh"
#include "job.cuh"

namespace lowbit {

/// Elements 16 i to 16 i + 3 of a query from `first` on, which is a multiple of 4. All are on their way together. Plain loads: the
/// compiler may move `__ldg` to before the end of the kernel that writes queries.
template <int COUNT>
__device__ __forceinline__ void loadFours(float (&x)[COUNT][4], const void* queries, QueryType type, size_t first) {
  if (type == QueryType::F32) {
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
      const float4 q = static_cast<const float4*>(queries)[first / 4 + 4 * i];
      x[i][0] = q.x, x[i][1] = q.y, x[i][2] = q.z, x[i][3] = q.w;
    }
    return;
  }
  uint2 pairs[COUNT];
#pragma unroll
  for (int i = 0; i < COUNT; i++) pairs[i] = static_cast<const uint2*>(queries)[first / 4 + 4 * i];
#pragma unroll
  for (int i = 0; i < COUNT; i++) {
    const uint32_t words[2] = {pairs[i].x, pairs[i].y};
#pragma unroll
    for (int j = 0; j < 2; j++) {
      const bool isHalf = type == QueryType::F16;
      x[i][2 * j] = isHalf ? lowHalf(words[j]) : __uint_as_float(words[j] << 16);
      x[i][2 * j + 1] = isHalf ? highHalf(words[j]) : __uint_as_float(words[j] & 0xffff0000u);
    }
  }
}

/// Queries of head lane / 8 as they meet keys. Lanes of even g prepare the first half of the channels, those of odd g the
/// second, each channels 4 t to 4 t + 3 of every k-half, and hand one another the bytes that they need.
template <PageLayout K>
struct Queries {
  static constexpr int HALVES = K.halves();
  static constexpr int OWN = HALVES / 2;
  float own[OWN][4];
  /// `own` in units of a page.
  float scaled[OWN][4];
  /// High parts as f16 in lanes of even g, low parts in odd ones: B of the products with zeros.
  uint32_t parts[HALVES][2];
  /// High bytes in lanes of even g, low bytes in odd ones: B of the products with codes.
  uint32_t bytes[HALVES];

  /// `first`: element of the head's query. `reciprocals`: f16 factors of the channels of packed keys, or null; parts are of the
  /// query as it came.
  __device__ __forceinline__ void load(const void* queries, QueryType type, size_t first, const __half* reciprocals, float scale, int lane) {
    const int t = lane % 4, role = lane / 4 % 2;
    float x[HALVES][4];
    loadFours(x, queries, type, first + 4 * t);
#pragma unroll
    for (int half = 0; half < HALVES; half++) {
#pragma unroll
      for (int j = 0; j < 4; j++) x[half][j] *= scale;
#pragma unroll
      for (int pair = 0; pair < 2; pair++) {
        __half2 part = __floats2half2_rn(x[half][2 * pair], x[half][2 * pair + 1]);
        if (role == 1)
          part = __floats2half2_rn(x[half][2 * pair] - __low2float(part), x[half][2 * pair + 1] - __high2float(part));
        parts[half][pair] = *reinterpret_cast<uint32_t*>(&part);
      }
    }
#pragma unroll
    for (int half = 0; half < OWN; half++)
#pragma unroll
      for (int j = 0; j < 4; j++) own[half][j] = role == 0 ? x[half][j] : x[half + OWN][j];
    if (reciprocals == nullptr) return;
#pragma unroll
    for (int half = 0; half < OWN; half++) {
      const uint2 r = reinterpret_cast<const uint2*>(reciprocals)[4 * (half + role * OWN) + t];
      own[half][0] *= 1.0f / lowHalf(r.x), own[half][1] *= 1.0f / highHalf(r.x);
      own[half][2] *= 1.0f / lowHalf(r.y), own[half][3] *= 1.0f / highHalf(r.y);
    }
  }

  /// The scales of a group of tokens that this lane folds in.
  static __device__ __forceinline__ const uint2* scalesOf(const uint8_t* page, int group, int lane) {
    const uint8_t* plane = page + K.scaleByte() + 2 * group * K.headDim;
    return reinterpret_cast<const uint2*>(plane) + lane % 4 * HALVES + lane / 4 % 2 * OWN;
  }

  /// Without their signs, which scales of codes around zero can have.
  static __device__ __forceinline__ uint2 sizesOf(const uint8_t* page, int group, int lane, int half) {
    const uint2 scales = scalesOf(page, group, lane)[half];
    return K.hasZero ? scales : make_uint2(scales.x & 0x7fff7fffu, scales.y & 0x7fff7fffu);
  }

  /// Chooses the unit of a page, so that no product with a scale exceeds LARGEST_QUERY. Gives that of head lane % 4.
  __device__ __forceinline__ float measure(const uint8_t* page, int lane) {
    uint2 scales[OWN];
#pragma unroll
    for (int half = 0; half < OWN; half++) {
      scales[half] = sizesOf(page, 0, lane, half);
#pragma unroll
      for (int group = 1; group < K.groups(); group++) {
        const uint2 others = sizesOf(page, group, lane, half);
        scales[half].x = maxOfPairs(scales[half].x, others.x);
        scales[half].y = maxOfPairs(scales[half].y, others.y);
      }
    }
    float largest = 0.0f;
#pragma unroll
    for (int half = 0; half < OWN; half++) {
      largest = fmaxf(largest, fabsf(own[half][0] * lowHalf(scales[half].x)));
      largest = fmaxf(largest, fabsf(own[half][1] * highHalf(scales[half].x)));
      largest = fmaxf(largest, fabsf(own[half][2] * lowHalf(scales[half].y)));
      largest = fmaxf(largest, fabsf(own[half][3] * highHalf(scales[half].y)));
    }
    return scaleTo(largest, lane);
  }

  /// Folds the scales of a group of tokens in.
  __device__ __forceinline__ void fold(const uint8_t* page, int group, int lane) {
#pragma unroll
    for (int half = 0; half < OWN; half++) {
      const uint2 s = scalesOf(page, group, lane)[half];
      const float factors[4] = {lowHalf(s.x), highHalf(s.x), lowHalf(s.y), highHalf(s.y)};
      split(half, factors, lane);
    }
  }

  /// For keys whose scales are no part of the query: once.
  __device__ __forceinline__ float prepare(int lane) {
    float largest = 0.0f;
#pragma unroll
    for (int half = 0; half < OWN; half++)
#pragma unroll
      for (int j = 0; j < 4; j++) largest = fmaxf(largest, fabsf(own[half][j]));
    const float unit = scaleTo(largest, lane);
    constexpr float ONES[4] = {1.0f, 1.0f, 1.0f, 1.0f};
#pragma unroll
    for (int half = 0; half < OWN; half++) split(half, ONES, lane);
    return unit;
  }

 private:
  /// `largest` of this lane becomes LARGEST_QUERY at most in all that prepare its head. Gives the unit of head lane % 4.
  __device__ __forceinline__ float scaleTo(float largest, int lane) {
    largest = fmaxf(largest, __shfl_xor_sync(ALL, largest, 1));
    largest = fmaxf(largest, __shfl_xor_sync(ALL, largest, 2));
    largest = fmaxf(largest, __shfl_xor_sync(ALL, largest, 4));
    const float inverse = largest > 1e-30f ? __fdividef(LARGEST_QUERY, largest) : 0.0f;
#pragma unroll
    for (int half = 0; half < OWN; half++)
#pragma unroll
      for (int j = 0; j < 4; j++) scaled[half][j] = own[half][j] * inverse;
    return __shfl_sync(ALL, largest * (1.0f / LARGEST_QUERY), 8 * (lane % 4));
  }

  /// Rounds channels of one k-half to 16 bits, and trades bytes with the lane that prepares the other channels.
  __device__ __forceinline__ void split(int half, const float (&factors)[4], int lane) {
    const int role = lane / 4 % 2;
    // Both bytes over 128, so that they do not carry.
    constexpr float ZERO = SIGNED_ZERO + 32896.0f;
    uint32_t v[4];
#pragma unroll
    for (int j = 0; j < 4; j++) v[j] = __float_as_uint(fmaf(scaled[half][j], factors[j], ZERO));
    const uint32_t first = __byte_perm(v[0], v[1], 0x5410);
    const uint32_t second = __byte_perm(v[2], v[3], 0x5410);
    const uint32_t low = __byte_perm(first, second, 0x6420) ^ 0x80808080u;
    const uint32_t high = __byte_perm(first, second, 0x7531) ^ 0x80808080u;
    const uint32_t other = __shfl_xor_sync(ALL, role == 0 ? low : high, 4);
    bytes[half] = role == 0 ? high : other;
    bytes[half + OWN] = role == 0 ? other : low;
  }
};

/// Sums of products of a query with the middle codes of keys, zero + 2^(bits - 1) scale: [group of tokens], head lane % 4.
/// Scales and zeros are met apart: their sum has more digits than f16.
template <PageLayout K>
__device__ __forceinline__ void middleTerms(float (&terms)[K.groups()], const Queries<K>& queries, const uint8_t* page, int lane) {
  const int g = lane / 4, t = lane % 4;
  float scales[4] = {0.0f, 0.0f, 0.0f, 0.0f}, zeros[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  const uint2* at = reinterpret_cast<const uint2*>(page + K.scaleByte() + 2 * g * K.headDim) + t * K.halves();
  constexpr int TO_ZEROS = (K.zeroByte() - K.scaleByte()) / 8;
#pragma unroll
  for (int half = 0; half < K.halves(); half++) {
    uint2 s = make_uint2(0u, 0u), z = make_uint2(0u, 0u);
    if (g < K.groups()) s = at[half], z = at[half + TO_ZEROS];
    const uint32_t scaleRows[4] = {s.x, 0u, s.y, 0u}, zeroRows[4] = {z.x, 0u, z.y, 0u};
    multiplyHalves(scales, scaleRows, queries.parts[half][0], queries.parts[half][1]);
    multiplyHalves(zeros, zeroRows, queries.parts[half][0], queries.parts[half][1]);
  }
  const float term = fmaf(scales[0] + scales[1], static_cast<float>(1 << (K.bits - 1)), zeros[0] + zeros[1]);
#pragma unroll
  for (int i = 0; i < K.groups(); i++) terms[i] = __shfl_sync(ALL, term, 4 * i + t);
}

}  // namespace lowbit
