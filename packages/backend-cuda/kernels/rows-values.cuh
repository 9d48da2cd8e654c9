// Packed values, met by rows of several query tokens, and the softmax that runs along.
//
// Codes count from their middle (`middleOf`): f32 sums of tensor cores are cut off, not rounded, at each product. Sums of codes that are
// all positive are hundreds of times what is left of them over many tokens, and lose as many times the digits.
#pragma once
#include "half-codes.cuh"
#include "values.cuh"

namespace lowbit {

/// The largest logit that was seen is no further above what weights are relative to than this when that is chosen: f16 weights have room
/// for larger ones to come, and keep their digits down to 2^-22 of it.
constexpr float WEIGHT_ROOM = 8.0f;
/// Below any logit, and finite.
constexpr float NOTHING_SEEN = -1e30f;

/// What a warp has seen, of rows g and g + 8 of a tile.
template <PageLayout V>
struct SeenRows {
  static constexpr int RUNS = V.headDim / 8;
  /// What weights are relative to.
  float reference[2];
  /// Weights times values of middle codes, in columns 0 to 3 that are groups over and over, and weights in all in columns 4 to 7.
  float zeros[4];
  /// Channels 8 run + 2 t and the next. Sums of codes from their middle, too large where they are in another field than the first.
  float output[RUNS][4];

  __device__ __forceinline__ void clear() {
    reference[0] = reference[1] = NOTHING_SEEN;
#pragma unroll
    for (int i = 0; i < 4; i++) {
      zeros[i] = 0.0f;
#pragma unroll
      for (int run = 0; run < RUNS; run++) output[run][i] = 0.0f;
    }
  }

  /// Of codes.
  __device__ __forceinline__ void scaleSums(float factor) {
#pragma unroll
    for (auto& run : output)
#pragma unroll
      for (float& sum : run) sum *= factor;
  }

  /// Makes the reference of row g + 8 row no less than `least`.
  __device__ __forceinline__ void raise(int row, float least) {
    const float raised = fmaxf(reference[row], least);
    const float kept = exp2Fast(reference[row] - raised);
    reference[row] = raised;
#pragma unroll
    for (int i = 2 * row; i < 2 * row + 2; i++) {
      zeros[i] *= kept;
#pragma unroll
      for (int run = 0; run < RUNS; run++) output[run][i] *= kept;
    }
  }

  /// Channel 8 run + 2 t + i of row g + 8 row. All lanes call.
  __device__ __forceinline__ float valueOf(int run, int row, int i, float shrink, int lane) const {
    const int group = 8 * run / V.groupSize;
    const float zero = __shfl_sync(ALL, zeros[2 * row + group % 2], (lane & ~3) + group / 2);
    return fmaf(output[run][2 * row + i], fieldFactor<V.bits>(run) * (1.0f / CODE_UNIT) / shrink, zero);
  }

  /// Of row g + 8 row, in lanes of t = 2.
  __device__ __forceinline__ float weightOf(int row) const { return zeros[2 * row]; }
};

/// What weights times scales are multiplied with, a power of two: no scale that was admitted is above 1 with it.
struct Shrink {
  float factor = 16384.0f;

  /// `largest`: bits of an f16 number, the same in all lanes.
  template <PageLayout V, int TILES>
  __device__ __forceinline__ void admit(uint32_t largest, SeenRows<V> (&seen)[TILES]) {
    const float wanted = __uint_as_float((127 + 14 - (largest >> 10)) << 23);
    if (wanted >= factor) [[likely]] return;
#pragma unroll
    for (SeenRows<V>& tile : seen) tile.scaleSums(wanted / factor);
    factor = wanted;
  }
};

/// What makes logits of sums: factor * sum + term, of rows g and g + 8.
struct LogitScale {
  float factors[2];
  float terms[2];
};

/// A of products with 16 tokens each: weights of the sums of runs of eight tokens.
template <int BITS, PageLayout V, int TILES, int RUNS>
__device__ __forceinline__ void weighRows(uint32_t (&weights)[RUNS / 2][TILES][4], SeenRows<V> (&seen)[TILES],
                                          const float (&sums)[TILES][RUNS][4], const LogitScale (&scales)[TILES]) {
#pragma unroll 1
  for (bool isRaised = false;; isRaised = true) {
    uint32_t largest = 0;
#pragma unroll
    for (int tile = 0; tile < TILES; tile++) {
#pragma unroll
      for (int row = 0; row < 2; row++) {
        const float term = scales[tile].terms[row] - seen[tile].reference[row];
#pragma unroll
        for (int run = 0; run < RUNS; run++) {
          const float factor = scales[tile].factors[row] * fieldFactor<BITS>(run);
          const float(&sum)[4] = sums[tile][run];
          const uint32_t pair = pairOfHalves(exp2Fast(fmaf(sum[2 * row], factor, term)), exp2Fast(fmaf(sum[2 * row + 1], factor, term)));
          weights[run / 2][tile][run % 2 * 2 + row] = pair;
          largest = maxOfPairs(largest, pair);
        }
      }
    }
    // Infinite ones need more room.
    const bool isOver = ((largest + 0x04000400u) & 0x80008000u) != 0;
    if (isRaised || !__any_sync(ALL, isOver)) [[likely]] return;
#pragma unroll
    for (int tile = 0; tile < TILES; tile++) {
#pragma unroll
      for (int row = 0; row < 2; row++) {
        float logit = -INFINITY;
#pragma unroll
        for (int run = 0; run < RUNS; run++) {
          const float factor = scales[tile].factors[row] * fieldFactor<BITS>(run);
          logit = fmaxf(logit, fmaxf(sums[tile][run][2 * row] * factor, sums[tile][run][2 * row + 1] * factor));
        }
        logit = fmaxf(logit, __shfl_xor_sync(ALL, logit, 1));
        logit = fmaxf(logit, __shfl_xor_sync(ALL, logit, 2));
        seen[tile].raise(row, logit + scales[tile].terms[row] - WEIGHT_ROOM);
      }
    }
  }
}

/// Bits of the largest scale of a page, in all lanes.
template <PageLayout V>
__device__ __forceinline__ uint32_t largestScale(const uint8_t* page, int lane) {
  const uint32_t* scales = reinterpret_cast<const uint32_t*>(page + V.scaleByte());
  uint32_t largest = 0;
#pragma unroll
  for (int i = 0; i < V.entries() / 2 / LANES; i++) largest = maxOfPairs(largest, scales[i * LANES + lane] & 0x7fff7fffu);
  return __reduce_max_sync(ALL, max(largest & 0xffffu, largest >> 16));
}

/// What codes of register `i` of B count from. Over a minimum their mean lies between two codes: half of the tokens take each.
template <PageLayout V>
__device__ __forceinline__ constexpr int middleOf(int i) {
  return (1 << (V.bits - 1)) - (V.hasZero ? i : 0);
}

/// Adds the values of a chunk, with groups along channels: scales are folded into the weights.
template <PageLayout V, int TILES>
__device__ __forceinline__ void meetRowValues(SeenRows<V> (&seen)[TILES], const uint32_t (&weights)[CHUNK_RUNS / 2][TILES][4],
                                              const Shrink& shrink, const uint8_t* page, int chunk, int lane) {
  static_assert(V.along == Along::CHANNELS && !V.isHybrid);
  constexpr int STEPS = CHUNK_TOKENS / 16;
  constexpr int FIELDS = fieldsOfByte(V.bits);
  constexpr int STRIPES = V.groupSize / (8 * FIELDS);
  const int g = lane / 4, t = lane % 4;
  /// Parameters of the tokens of lane t, as B has them.
  const auto loadParameters = [&](uint32_t (&pairs)[STEPS][2], const uint8_t* plane, int group) {
    const uint8_t* own = plane + 2 * (group * PAGE_TOKENS + 2 * t * (PAGE_TOKENS / 8) + chunk * (CHUNK_TOKENS / 8));
    const uint2 even = *reinterpret_cast<const uint2*>(own), odd = *reinterpret_cast<const uint2*>(own + PAGE_TOKENS / 4);
    pairs[0][0] = __byte_perm(even.x, odd.x, 0x5410), pairs[0][1] = __byte_perm(even.x, odd.x, 0x7632);
    pairs[1][0] = __byte_perm(even.y, odd.y, 0x5410), pairs[1][1] = __byte_perm(even.y, odd.y, 0x7632);
  };
  // Codes around zero have a middle of 0.
  uint32_t middles[STEPS][2] = {};
  if constexpr (V.hasZero) {
    uint32_t zeros[STEPS][2];
    loadParameters(zeros, page + V.zeroByte(), g % V.groups());
    loadParameters(middles, page + V.scaleByte(), g % V.groups());
#pragma unroll
    for (int step = 0; step < STEPS; step++)
#pragma unroll
      for (int i = 0; i < 2; i++) middles[step][i] = valuesOf(static_cast<float>(middleOf<V>(i)), middles[step][i], zeros[step][i]);
  }
#pragma unroll
  for (int step = 0; step < STEPS; step++) {
    const uint32_t b0 = g < 4 ? middles[step][0] : ONES, b1 = g < 4 ? middles[step][1] : ONES;
#pragma unroll
    for (int tile = 0; tile < TILES; tile++) multiplyHalves(seen[tile].zeros, weights[step][tile], b0, b1);
  }
  const uint32_t factor = pairOfHalves(shrink.factor, shrink.factor);
  const uint2* codes = reinterpret_cast<const uint2*>(page) + (chunk / 2 * LANES + lane) * 2 + chunk % 2;
#pragma unroll
  for (int group = 0; group < V.groups(); group++) {
    uint32_t scales[STEPS][2];
    loadParameters(scales, page + V.scaleByte(), group);
    uint32_t a[STEPS][TILES][4];
#pragma unroll
    for (int step = 0; step < STEPS; step++) {
#pragma unroll
      for (int i = 0; i < 2; i++) scales[step][i] = multipliedPairs(scales[step][i], factor);
#pragma unroll
      for (int tile = 0; tile < TILES; tile++)
#pragma unroll
        for (int i = 0; i < 4; i++) a[step][tile][i] = multipliedPairs(weights[step][tile][i], scales[step][i / 2]);
    }
#pragma unroll
    for (int stripe = group * STRIPES; stripe < (group + 1) * STRIPES; stripe++) {
      const uint2 words = codes[stripe * (PAGE_TOKENS / 64 * LANES * 2)];
#pragma unroll
      for (int step = 0; step < STEPS; step++) {
        forFields<V.bits>(step == 0 ? words.x : words.y, [&](int field, uint32_t b0, uint32_t b1) {
          b0 = differencePairs(b0, codeOfPair<V.bits>(middleOf<V>(0), field));
          b1 = differencePairs(b1, codeOfPair<V.bits>(middleOf<V>(1), field));
#pragma unroll
          for (int tile = 0; tile < TILES; tile++) multiplyHalves(seen[tile].output[stripe * FIELDS + field], a[step][tile], b0, b1);
        });
      }
    }
  }
}

}  // namespace lowbit
