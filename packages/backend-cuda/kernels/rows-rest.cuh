// Tokens that are on no page, met by rows of several query tokens.
#pragma once
#include <climits>

#include "rest.cuh"
#include "rows-queries.cuh"
#include "rows-values.cuh"

namespace lowbit {

/// What rows see: tokens up to the position of their query token.
struct RowLimits {
  /// Of the first query token, and how many rows each has.
  int position;
  int heads;

  __device__ __forceinline__ int of(int row) const { return position + row / heads; }
};

/// Makes sums plain logits, of which some are hidden. `positions`: of the tokens of columns 2 t and 2 t + 1 of each run; INT_MAX where
/// there is none.
template <int BITS, int TILES, int RUNS>
__device__ __forceinline__ void settleLogits(float (&sums)[TILES][RUNS][4], LogitScale (&scales)[TILES], const int (&positions)[RUNS][2],
                                             const RowLimits& limits, float softCap, int lane) {
#pragma unroll
  for (int tile = 0; tile < TILES; tile++) {
#pragma unroll
    for (int row = 0; row < 2; row++) {
      const int limit = limits.of(16 * tile + 8 * row + lane / 4);
#pragma unroll
      for (int run = 0; run < RUNS; run++) {
        const float factor = scales[tile].factors[row] * fieldFactor<BITS>(run);
        float(&sum)[4] = sums[tile][run];
        float logits[2];
#pragma unroll
        for (int i = 0; i < 2; i++) logits[i] = fmaf(sum[2 * row + i], factor, scales[tile].terms[row]);
        if (softCap > 0.0f) capLogits(logits, softCap);
#pragma unroll
        for (int i = 0; i < 2; i++) sum[2 * row + i] = positions[run][i] > limit ? -INFINITY : logits[i] * (1.0f / fieldFactor<BITS>(run));
      }
      scales[tile].factors[row] = 1.0f;
      scales[tile].terms[row] = 0.0f;
    }
  }
}

/// Adds tokens of an item that are on no page both, 16 at a time. `keyRows`, `valueRows`: room for 16 rows of each tensor.
template <PageLayout K, PageLayout V, int TILES, int WARPS>
__device__ __forceinline__ void meetRowRest(SeenRows<V> (&seen)[TILES], const RowQueries<K.headDim, TILES>& queries,
                                            const Shrink& shrink, const DecodeJob& job, const Item& item,
                                            const RowLimits& limits, const __half* reciprocals, int head, int warp, int lane,
                                            __half* keyRows, __half* valueRows) {
  const int g = lane / 4, t = lane % 4;
  using KeyRows = RestRows<K, 2>;
  using ValueRows = RestRows<V, 2>;
  KeyRows keys;
  ValueRows values;
  keys.rows = keyRows, keys.reciprocals = reciprocals;
  values.rows = valueRows, values.reciprocals = nullptr;
#pragma unroll 1
  for (int first = firstRestOf<WARPS>(warp); first < item.rests; first += 16 * WARPS) {
    const RestEntry own = job.restTable[item.firstRest + min(first + lane % 16, item.rests - 1)];
    __syncwarp();
    keys.fetch(job, own.key, head, lane);
    values.fetch(job, own.value, head, lane);
    keys.complete(job, own.key, head, lane);
    values.complete(job, own.value, head, lane);
    __syncwarp();
    float sums[TILES][2][4] = {};
#pragma unroll
    for (int step = 0; step < K.halves(); step++) {
      uint32_t b[2][2];
#pragma unroll
      for (int run = 0; run < 2; run++) {
        const uint2 x = *reinterpret_cast<const uint2*>(keyRows + KeyRows::at(8 * run + g, 16 * step + 4 * t));
        b[run][0] = __byte_perm(x.x, x.y, 0x5410), b[run][1] = __byte_perm(x.x, x.y, 0x7632);
      }
#pragma unroll
      for (int tile = 0; tile < TILES; tile++) {
        uint32_t a[4];
        queries.load(a, step, tile, lane);
#pragma unroll
        for (int run = 0; run < 2; run++) multiplyHalves(sums[tile][run], a, b[run][0], b[run][1]);
      }
    }
    LogitScale scales[TILES];
#pragma unroll
    for (int tile = 0; tile < TILES; tile++)
#pragma unroll
      for (int row = 0; row < 2; row++)
        scales[tile].factors[row] = queries.unitOf(16 * tile + 8 * row + g) * job.scale, scales[tile].terms[row] = 0.0f;
    int positions[2][2];
#pragma unroll
    for (int run = 0; run < 2; run++) {
#pragma unroll
      for (int i = 0; i < 2; i++) {
        const int token = 8 * run + 2 * t + i;
        const int position = __shfl_sync(ALL, own.position, token);
        positions[run][i] = first + token < item.rests ? position : INT_MAX;
      }
    }
    settleLogits<0>(sums, scales, positions, limits, job.softCap, lane);
    uint32_t weights[1][TILES][4];
    weighRows<0>(weights, seen, sums, scales);
    const uint32_t ones = g < 4 ? 0u : ONES;
#pragma unroll
    for (int tile = 0; tile < TILES; tile++) multiplyHalves(seen[tile].zeros, weights[0][tile], ones, ones);
#pragma unroll
    for (int pair = 0; pair < V.headDim / 16; pair++) {
      // Lanes 8 i + r: token r + 8 (i % 2), channels 8 (i / 2) on.
      const int token = lane % 8 + lane / 8 % 2 * 8;
      uint32_t b[4];
      loadTransposed(b, sharedAddress(valueRows + ValueRows::at(token, 16 * pair + lane / 16 * 8)));
#pragma unroll
      for (int i = 0; i < 2; i++) {
        const int run = 2 * pair + i;
        const float unit = shrink.factor * (CODE_UNIT / fieldFactor<V.bits>(run));
#pragma unroll
        for (int tile = 0; tile < TILES; tile++) {
          float out[4] = {0.0f, 0.0f, 0.0f, 0.0f};
          multiplyHalves(out, weights[0][tile], b[2 * i], b[2 * i + 1]);
#pragma unroll
          for (int j = 0; j < 4; j++) seen[tile].output[run][j] = fmaf(out[j], unit, seen[tile].output[run][j]);
        }
      }
    }
  }
}

}  // namespace lowbit
