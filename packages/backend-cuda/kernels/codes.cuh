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

/// Rows of eight outer elements that lanes multiply together: those of a stripe, or of two where a byte has one field.
LOWBIT_ANYWHERE int rowsOfBlock(int bits) { return bits == 8 ? 2 : fieldsOfByte(bits); }

template <int BITS>
__device__ __forceinline__ constexpr uint32_t fieldMask(int field) {
  return ((1u << BITS) - 1u) * 0x01010101u << (BITS * field);
}

/// How far left codes of a row of a block are: sums come out 2^shift too large.
template <int BITS>
__device__ __forceinline__ constexpr int rowShift(int row) {
  return BITS == 8 ? 0 : BITS * row;
}

template <int BITS>
__device__ __forceinline__ constexpr float rowFactor(int row) {
  return 1.0f / static_cast<float>(1u << rowShift<BITS>(row));
}

__device__ __forceinline__ float lowHalf(uint32_t word) { return __low2float(*reinterpret_cast<const __half2*>(&word)); }
__device__ __forceinline__ float highHalf(uint32_t word) { return __high2float(*reinterpret_cast<const __half2*>(&word)); }

__device__ __forceinline__ float maxOfRows(float x) {
  x = fmaxf(x, __shfl_xor_sync(ALL, x, 4));
  x = fmaxf(x, __shfl_xor_sync(ALL, x, 8));
  return fmaxf(x, __shfl_xor_sync(ALL, x, 16));
}

/// Of all lanes, for all of them.
__device__ __forceinline__ float maxOfLanes(float x) {
  x = fmaxf(x, __shfl_xor_sync(ALL, x, 1));
  return maxOfRows(fmaxf(x, __shfl_xor_sync(ALL, x, 2)));
}

__device__ __forceinline__ float sumOfRows(float x) {
  x += __shfl_xor_sync(ALL, x, 4);
  x += __shfl_xor_sync(ALL, x, 8);
  return x + __shfl_xor_sync(ALL, x, 16);
}

__device__ __forceinline__ float sumOfLanes(float x) {
  x += __shfl_xor_sync(ALL, x, 1);
  return sumOfRows(x + __shfl_xor_sync(ALL, x, 2));
}

/// COUNT words of a lane that lie in vectors of 4, then one of 2, then one of 1.
template <int COUNT>
__device__ __forceinline__ void loadVectors(uint32_t* words, const uint32_t* from, int lane) {
  constexpr int IN_FOURS = COUNT / 4 * 4, IN_TWOS = COUNT % 4 / 2 * 2;
#pragma unroll
  for (int i = 0; i < IN_FOURS; i += 4) {
    const uint4 x = reinterpret_cast<const uint4*>(from + i * LANES)[lane];
    words[i] = x.x, words[i + 1] = x.y, words[i + 2] = x.z, words[i + 3] = x.w;
  }
  if constexpr (IN_TWOS > 0) {
    const uint2 x = reinterpret_cast<const uint2*>(from + IN_FOURS * LANES)[lane];
    words[IN_FOURS] = x.x, words[IN_FOURS + 1] = x.y;
  }
  if constexpr (COUNT % 2 > 0) words[COUNT - 1] = from[(COUNT - 1) * LANES + lane];
}

/// Bits of `a` where a bit of MASK is set, of `b` elsewhere.
template <uint32_t MASK>
__device__ __forceinline__ uint32_t chosen(uint32_t a, uint32_t b) {
  return ((a ^ b) & MASK) ^ b;
}

/// What a lane multiplies of a block of outer elements: a word for each k-half, of 8 bits for each of two stripes.
template <PageLayout L>
struct BlockWords {
  static constexpr int ROWS = rowsOfBlock(L.bits);
  uint32_t words[L.bits == 8 ? 2 * L.halves() : L.halves()];

  __device__ __forceinline__ void load(const uint8_t* codes, int block, int lane) {
    const uint32_t* from = reinterpret_cast<const uint32_t*>(codes) + block * (L.bits == 8 ? 2 : 1) * L.words() * LANES;
    if constexpr (L.bits == 3) {
      uint32_t stored[L.words()];
      loadVectors<L.words()>(stored, from, lane);
#pragma unroll
      for (int four = 0; four < L.halves() / 4; four++) {
        const uint32_t* parts = stored + 3 * four;
        for (int i = 0; i < 3; i++) words[4 * four + i] = parts[i];
        // Bits above the fields are left as they come.
        words[4 * four + 3] = chosen<0x0f0f0f0fu>(chosen<0x03030303u>(parts[0] >> 6, parts[1] >> 4), parts[2] >> 2);
      }
    } else {
#pragma unroll
      for (int stripe = 0; stripe < (L.bits == 8 ? 2 : 1); stripe++) {
        const uint32_t* first = from + stripe * L.halves() * LANES;
#pragma unroll
        for (int i = 0; i < L.halves(); i += L.vector())
          loadVectors<L.vector()>(words + stripe * L.halves() + i, first + i * LANES, lane);
      }
    }
  }

  /// Registers of A: rows `row` and the next, k-halves 2 step and 2 step + 1.
  __device__ __forceinline__ void codes(uint32_t (&a)[4], int row, int step) const {
    if constexpr (L.bits == 8) {
      a[0] = words[2 * step], a[1] = words[L.halves() + 2 * step];
      a[2] = words[2 * step + 1], a[3] = words[L.halves() + 2 * step + 1];
    } else {
      a[0] = words[2 * step] & fieldMask<L.bits>(row), a[1] = words[2 * step] & fieldMask<L.bits>(row + 1);
      a[2] = words[2 * step + 1] & fieldMask<L.bits>(row), a[3] = words[2 * step + 1] & fieldMask<L.bits>(row + 1);
    }
  }
};

/// Scales and zeros of rows of a block, of one group: what sums of codes that count from their middle are met with.
template <PageLayout L>
struct RowParameters {
  static constexpr int ROWS = rowsOfBlock(L.bits);
  /// What codes count from.
  static constexpr int MIDDLE = L.hasZero && !L.isHybrid ? 0 : 1 << (L.bits - 1);
  float scales[ROWS];
  float zeros[ROWS];

  /// `scale`: of the first row, in the plane of scales.
  __device__ __forceinline__ void load(const uint8_t* scale) {
#pragma unroll
    for (int pair = 0; pair < ROWS / 2; pair++) {
      const uint32_t s = reinterpret_cast<const uint32_t*>(scale)[pair];
      scales[2 * pair] = lowHalf(s), scales[2 * pair + 1] = highHalf(s);
      if constexpr (L.hasZero) {
        const uint32_t z = reinterpret_cast<const uint32_t*>(scale + L.zeroByte() - L.scaleByte())[pair];
        zeros[2 * pair] = lowHalf(z), zeros[2 * pair + 1] = highHalf(z);
      }
    }
    if constexpr (L.isHybrid) {
#pragma unroll
      for (int row = 0; row < ROWS; row++) {
        // Groups over their minimum have the sign bit; the others count from the middle, and have a zero of 0.
        zeros[row] = fmaf(fmaxf(-scales[row], 0.0f), static_cast<float>(MIDDLE), zeros[row]);
        scales[row] = fabsf(scales[row]);
      }
    }
  }
};

__device__ __forceinline__ uint32_t maxOfPairs(uint32_t a, uint32_t b) {
  const __half2 x = __hmax2(*reinterpret_cast<const __half2*>(&a), *reinterpret_cast<const __half2*>(&b));
  return *reinterpret_cast<const uint32_t*>(&x);
}

}  // namespace lowbit
