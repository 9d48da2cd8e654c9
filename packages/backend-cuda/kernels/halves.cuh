// f16 numbers as bits, and f32 arithmetic with one rounding an operation: the same results on the device and on the host.
//
// Pairs are two f16 numbers in a word, the first in its low half. The host needs -ffp-contract=off.
#pragma once

#if defined(__CUDACC__)
#include <cuda_fp16.h>
#define LOWBIT_INLINE __host__ __device__ __forceinline__
#define LOWBIT_UNROLL _Pragma("unroll")
#define LOWBIT_ROLLED _Pragma("unroll 1")
#else
#define LOWBIT_INLINE inline
#define LOWBIT_UNROLL
#define LOWBIT_ROLLED
#endif
#include <cmath>
#include <cstdint>
#include <cstring>

namespace lowbit {

constexpr uint32_t HALF_SIGN = 0x8000;
constexpr uint32_t HALF_MAGNITUDE = 0x7fff;
constexpr uint32_t HALF_INFINITY = 0x7c00;
constexpr uint32_t HALF_LARGEST = 0x7bff;
constexpr uint32_t HALF_SMALLEST_NORMAL = 0x0400;

LOWBIT_INLINE uint32_t bitsOf(float value) {
#if defined(__CUDA_ARCH__)
  return __float_as_uint(value);
#else
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
#endif
}

LOWBIT_INLINE float floatOf(uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return __uint_as_float(bits);
#else
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
#endif
}

LOWBIT_INLINE float sumOf(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fadd_rn(a, b);
#else
  return a + b;
#endif
}

LOWBIT_INLINE float differenceOf(float a, float b) {
  return sumOf(a, -b);
}

LOWBIT_INLINE float productOf(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}

/// a b + c, rounded once.
LOWBIT_INLINE float fusedOf(float a, float b, float c) {
#if defined(__CUDA_ARCH__)
  return __fmaf_rn(a, b, c);
#else
  return std::fma(a, b, c);
#endif
}

/// The value of f16 bits, exactly. Bits above them are ignored.
LOWBIT_INLINE float halfValue(uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return __half2float(__ushort_as_half(static_cast<unsigned short>(bits)));
#else
  const uint32_t magnitude = bits & HALF_MAGNITUDE;
  const uint32_t sign = (bits & HALF_SIGN) << 16;
  if (magnitude >= HALF_INFINITY) return floatOf(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
  if (magnitude >= HALF_SMALLEST_NORMAL) return floatOf(sign | ((magnitude << 13) + 0x38000000));
  const float value = static_cast<float>(magnitude) * 0x1p-24f;
  return floatOf(sign | bitsOf(value));
#endif
}

/// The nearest f16 of what is not NaN, ties to even.
LOWBIT_INLINE uint32_t halfBits(float value) {
#if defined(__CUDA_ARCH__)
  return __half_as_ushort(__float2half_rn(value));
#else
  const uint32_t bits = bitsOf(value);
  const uint32_t sign = bits >> 16 & HALF_SIGN;
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude >= 0x47800000) return sign | HALF_INFINITY;
  if (magnitude >= 0x38800000) return sign | ((magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13);
  // Multiples of 2^-24: as integers after a sum that rounds there.
  return sign | (bitsOf(floatOf(magnitude) + 0.5f) - bitsOf(0.5f));
#endif
}

LOWBIT_INLINE bool isFiniteHalf(uint32_t bits) {
  return (bits & HALF_INFINITY) != HALF_INFINITY;
}

LOWBIT_INLINE bool isHalfNan(uint32_t bits) {
  return (bits & HALF_MAGNITUDE) > HALF_INFINITY;
}

/// Both numbers without their signs.
LOWBIT_INLINE uint32_t magnitudesOf(uint32_t pair) {
  return pair & 0x7fff7fff;
}

#if !defined(__CUDA_ARCH__)
/// Rises with the value.
inline int32_t orderOfHalf(uint32_t bits) {
  const auto magnitude = static_cast<int32_t>(bits & HALF_MAGNITUDE);
  return (bits & HALF_SIGN) != 0 ? -magnitude : magnitude;
}

inline uint32_t smallerHalf(uint32_t a, uint32_t b) {
  if (isHalfNan(a) || isHalfNan(b)) return HALF_MAGNITUDE;
  return orderOfHalf(b) < orderOfHalf(a) ? b : a;
}

inline uint32_t largerHalf(uint32_t a, uint32_t b) {
  if (isHalfNan(a) || isHalfNan(b)) return HALF_MAGNITUDE;
  return orderOfHalf(b) > orderOfHalf(a) ? b : a;
}
#endif

/// Of the first numbers and of the second. NaN where one of the two is NaN; which zero is smaller is left open.
LOWBIT_INLINE uint32_t smallerPair(uint32_t a, uint32_t b) {
#if defined(__CUDA_ARCH__)
  uint32_t result;
  asm("min.NaN.f16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  return result;
#else
  return smallerHalf(a & 0xffff, b & 0xffff) | smallerHalf(a >> 16, b >> 16) << 16;
#endif
}

LOWBIT_INLINE uint32_t largerPair(uint32_t a, uint32_t b) {
#if defined(__CUDA_ARCH__)
  uint32_t result;
  asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  return result;
#else
  return largerHalf(a & 0xffff, b & 0xffff) | largerHalf(a >> 16, b >> 16) << 16;
#endif
}

/// The smaller and the larger of two; NaN where one of them is. Which zero is smaller is left open.
LOWBIT_INLINE float minimumOrNan(float a, float b) {
#if defined(__CUDA_ARCH__)
  float result;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
#else
  return a != a || b != b ? NAN : a < b ? a : b;
#endif
}

LOWBIT_INLINE float maximumOrNan(float a, float b) {
  return -minimumOrNan(-a, -b);
}

/// Low halves of a and b.
LOWBIT_INLINE uint32_t lowHalves(uint32_t a, uint32_t b) {
#if defined(__CUDA_ARCH__)
  return __byte_perm(a, b, 0x5410);
#else
  return (a & 0xffff) | b << 16;
#endif
}

/// High halves of a and b.
LOWBIT_INLINE uint32_t highHalves(uint32_t a, uint32_t b) {
#if defined(__CUDA_ARCH__)
  return __byte_perm(a, b, 0x7632);
#else
  return a >> 16 | (b & 0xffff0000);
#endif
}

/// Place of the lowest bit of what is not 0.
LOWBIT_INLINE int lowestBit(uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return __ffs(static_cast<int>(bits)) - 1;
#else
  return __builtin_ctz(bits);
#endif
}

}  // namespace lowbit
