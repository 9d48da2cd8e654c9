// Codes as B of f16 tensor cores, eight outer elements by 16 reduced ones. A code of up to 10 bits is an f16 number as it stands: a
// multiple of the smallest one, CODE_UNIT. Of a word bytes 0 and 2 are the first register, bytes 1 and 3, one shift away, the second;
// a field that is left where it is comes out 2^(bits field) too large.
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

__device__ __forceinline__ uint32_t pairOfHalves(float low, float high) {
  const __half2 x = __floats2half2_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&x);
}

/// B of the fields of a word.
template <int BITS>
struct WordFields {
  static constexpr int FIELDS = fieldsOfByte(BITS);
  uint32_t b[FIELDS][2];

  __device__ __forceinline__ void set(int field, uint32_t word, uint32_t odd) {
    b[field][0] = word & fieldOfPair<BITS>(field), b[field][1] = odd & fieldOfPair<BITS>(field);
  }
};

/// `multiply(i, field, b0, b1)` with B of each field of words 0 to COUNT - 1, as `word(i)` gives them. Fields of the next word are taken
/// apart between products: a warp waits six cycles from one to the next.
template <int BITS, int COUNT, class Word, class Multiply>
__device__ __forceinline__ void multiplyWords(Word word, Multiply multiply) {
  WordFields<BITS> fields;
  const uint32_t first = word(0), odd = first >> 8;
#pragma unroll
  for (int field = 0; field < fields.FIELDS; field++) fields.set(field, first, odd);
#pragma unroll
  for (int i = 0; i < COUNT; i++) {
    WordFields<BITS> later;
    const uint32_t next = i + 1 < COUNT ? word(i + 1) : 0u, oddNext = next >> 8;
#pragma unroll
    for (int field = 0; field < fields.FIELDS; field++) {
      multiply(i, field, fields.b[field][0], fields.b[field][1]);
      later.set(field, next, oddNext);
    }
    fields = later;
  }
}

}  // namespace lowbit
