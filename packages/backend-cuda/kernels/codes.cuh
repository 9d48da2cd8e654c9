// Codes as operands of integer tensor cores, and numbers that their sums are read by.
#pragma once
#include "layout.cuh"
#include "mma.cuh"

namespace lowbit {

constexpr float SIGNED_ZERO = 12582912.0f;   // 1.5 2^23: sums on both sides of it are floats by their bits
constexpr int SIGNED_ZERO_BITS = 0x4B400000;
constexpr float UNSIGNED_ZERO = 8388608.0f;  // 2^23
constexpr int UNSIGNED_ZERO_BITS = 0x4B000000;
constexpr float LARGEST_QUERY = 32512.0f;    // the high byte of what is rounded to it stays within 127
constexpr float LARGEST_WEIGHT = 65500.0f;
constexpr unsigned ALL = 0xffffffffu;

template <int BITS>
__device__ __forceinline__ constexpr uint32_t fieldMask(int field) {
  return ((1u << BITS) - 1u) * 0x01010101u << (BITS * field);
}

/// 2^-(bits field): rows of a field come out so much too large.
template <int BITS>
__device__ __forceinline__ constexpr float fieldFactor(int field) {
  return 1.0f / static_cast<float>(1u << (BITS * field));
}

__device__ __forceinline__ float lowHalf(uint32_t word) { return __low2float(*reinterpret_cast<const __half2*>(&word)); }
__device__ __forceinline__ float highHalf(uint32_t word) { return __high2float(*reinterpret_cast<const __half2*>(&word)); }

__device__ __forceinline__ float maxOfRows(float x) {
  x = fmaxf(x, __shfl_xor_sync(ALL, x, 4));
  x = fmaxf(x, __shfl_xor_sync(ALL, x, 8));
  return fmaxf(x, __shfl_xor_sync(ALL, x, 16));
}

__device__ __forceinline__ float sumOfRows(float x) {
  x += __shfl_xor_sync(ALL, x, 4);
  x += __shfl_xor_sync(ALL, x, 8);
  return x + __shfl_xor_sync(ALL, x, 16);
}

/// Words of a stripe that one lane multiplies: its halves, in vectors.
template <PageLayout L>
__device__ __forceinline__ void loadStripe(uint32_t (&words)[L.halves()], const uint8_t* codes, int stripe, int lane) {
  if constexpr (L.vector() == 4) {
#pragma unroll
    for (int v = 0; v < L.halves() / 4; v++) {
      const uint4 x = reinterpret_cast<const uint4*>(codes)[(stripe * (L.halves() / 4) + v) * LANES + lane];
      words[4 * v] = x.x, words[4 * v + 1] = x.y, words[4 * v + 2] = x.z, words[4 * v + 3] = x.w;
    }
  } else {
#pragma unroll
    for (int v = 0; v < L.halves() / 2; v++) {
      const uint2 x = reinterpret_cast<const uint2*>(codes)[(stripe * (L.halves() / 2) + v) * LANES + lane];
      words[2 * v] = x.x, words[2 * v + 1] = x.y;
    }
  }
}

/// Registers of A: fields `field` and the next of two words.
template <int BITS>
__device__ __forceinline__ void codesOf(uint32_t (&a)[4], int field, uint32_t first, uint32_t second) {
  a[0] = first & fieldMask<BITS>(field), a[1] = first & fieldMask<BITS>(field + 1);
  a[2] = second & fieldMask<BITS>(field), a[3] = second & fieldMask<BITS>(field + 1);
}

__device__ __forceinline__ uint32_t maxOfPairs(uint32_t a, uint32_t b) {
  const __half2 x = __hmax2(*reinterpret_cast<const __half2*>(&a), *reinterpret_cast<const __half2*>(&b));
  return *reinterpret_cast<const uint32_t*>(&x);
}

}  // namespace lowbit
