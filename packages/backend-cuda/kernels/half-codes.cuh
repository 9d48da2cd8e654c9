// Codes as operands of f16 tensor cores: B, eight outer elements by 16 reduced ones, or A, two rows of that. A code of up to 10 bits is
// an f16 number as it stands: a multiple of the smallest one, CODE_UNIT. Of a word bytes 0 and 2 are the first register, bytes 1 and 3,
// one shift away, the second; a field that is left where it is comes out 2^(bits field) too large.
#pragma once
#include "codes.cuh"

namespace lowbit {

/// Of f16 numbers, two to a register.
constexpr uint32_t ONES = 0x3c003c00u;
/// 2^-24.
constexpr float CODE_UNIT = 1.0f / 16777216.0f;
/// Tokens that are met at once.
constexpr int CHUNK_TOKENS = 32;
constexpr int CHUNKS = PAGE_TOKENS / CHUNK_TOKENS;
/// Of eight tokens, columns of B.
constexpr int CHUNK_RUNS = CHUNK_TOKENS / 8;

template <int BITS>
__device__ __forceinline__ constexpr uint32_t fieldOfPair(int field) {
  return ((1u << BITS) - 1u) * 0x00010001u << (BITS * field);
}

/// A code in both.
template <int BITS>
__device__ __forceinline__ constexpr uint32_t codeOfPair(int code, int field) {
  return static_cast<uint32_t>(code) * 0x00010001u << (BITS * field);
}

/// What sums of a run are multiplied with, for the field that its codes are in. Without codes there is none: 0 bits.
template <int BITS>
__device__ __forceinline__ constexpr float fieldFactor(int run) {
  if constexpr (BITS == 0) return 1.0f;
  else return 1.0f / static_cast<float>(1u << (BITS * (run % fieldsOfByte(BITS))));
}

__device__ __forceinline__ uint32_t multipliedPairs(uint32_t a, uint32_t b) {
  const __half2 x = __hmul2(*reinterpret_cast<const __half2*>(&a), *reinterpret_cast<const __half2*>(&b));
  return *reinterpret_cast<const uint32_t*>(&x);
}

__device__ __forceinline__ uint32_t differencePairs(uint32_t a, uint32_t b) {
  const __half2 x = __hsub2(*reinterpret_cast<const __half2*>(&a), *reinterpret_cast<const __half2*>(&b));
  return *reinterpret_cast<const uint32_t*>(&x);
}

__device__ __forceinline__ uint32_t pairOfHalves(float low, float high) {
  const __half2 x = __floats2half2_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&x);
}

/// `multiply(field, b0, b1)` with B of each field of a word.
template <int BITS, class Multiply>
__device__ __forceinline__ void forFields(uint32_t word, Multiply multiply) {
  const uint32_t odd = word >> 8;
#pragma unroll
  for (int field = 0; field < fieldsOfByte(BITS); field++)
    multiply(field, word & fieldOfPair<BITS>(field), odd & fieldOfPair<BITS>(field));
}

/// Registers of A: fields `field` and the next of a word.
template <int BITS>
__device__ __forceinline__ void rowsOfFields(uint32_t (&a)[4], uint32_t word, int field) {
  const uint32_t odd = word >> 8;
  a[0] = word & fieldOfPair<BITS>(field), a[1] = word & fieldOfPair<BITS>(field + 1);
  a[2] = odd & fieldOfPair<BITS>(field), a[3] = odd & fieldOfPair<BITS>(field + 1);
}

}  // namespace lowbit
