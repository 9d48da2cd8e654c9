// Packed keys, met by rows of several query tokens.
#pragma once
#include "half-codes.cuh"
#include "rows-queries.cuh"

namespace lowbit {

/// Keys with groups along tokens: scales are folded into the rows as they are loaded. Codes count from their middle.
template <PageLayout K, int TILES>
struct FoldedRowKeys {
  static_assert(!K.isHybrid, "folded scales have no modes");
  using Queries = RowQueries<K.headDim, TILES>;
  static constexpr int GROUPS = K.groups();
  static constexpr int STEPS = K.halves();
  static constexpr float MIDDLE = static_cast<float>(1 << (K.bits - 1));
  /// With one group for all tokens of a page, rows with its scales folded in lie in shared memory, a part for every warp. Of a single
  /// tile it is less to fold them for every chunk than that room takes.
  static constexpr bool IS_FOLDED_ONCE = GROUPS == 1 && TILES > 1;
  static constexpr int WARP_BYTES = IS_FOLDED_ONCE ? Queries::PART_BYTES : 0;
  uint8_t* own;
  /// Products of rows with the middle codes of a page; where rows are folded once, less their sums, as they were rounded, times the
  /// middle. Columns are groups, over and over: lane (g, t) has groups 2 t and 2 t + 1 of rows g and g + 8.
  float middles[TILES][4];

  /// Parameters of the channels of steps 2 pair and 2 pair + 1 that lane t has, as B has them.
  static __device__ __forceinline__ void loadParameters(uint32_t (&pairs)[2][2], const uint8_t* plane, int group, int pair, int lane) {
    const uint8_t* own = plane + 2 * (group * K.headDim + lane % 4 * (K.headDim / 4));
    const uint4 x = reinterpret_cast<const uint4*>(own)[pair];
    if constexpr (K.isMetInHalves()) {
      pairs[0][0] = x.x, pairs[0][1] = x.y, pairs[1][0] = x.z, pairs[1][1] = x.w;
    } else {
      pairs[0][0] = __byte_perm(x.x, x.y, 0x5410), pairs[0][1] = __byte_perm(x.x, x.y, 0x7632);
      pairs[1][0] = __byte_perm(x.z, x.w, 0x5410), pairs[1][1] = __byte_perm(x.z, x.w, 0x7632);
    }
  }

  /// Once a page.
  __device__ __forceinline__ void begin(const Queries& queries, const uint8_t* page, int lane) {
    const int g = lane / 4;
    // Columns 0 to 3 are zeros, and 4 to 7 scales: their sum has more digits than f16.
    const uint8_t* plane = page + (K.hasZero && g < 4 ? K.zeroByte() : K.scaleByte());
    float products[TILES][4] = {}, rounded[TILES][4] = {};
#pragma unroll
    for (int pair = 0; pair < STEPS / 2; pair++) {
      uint32_t b[2][2], scales[2][2];
      loadParameters(b, plane, g % GROUPS, pair, lane);
      if constexpr (IS_FOLDED_ONCE) loadParameters(scales, page + K.scaleByte(), 0, pair, lane);
#pragma unroll
      for (int i = 0; i < 2; i++) {
#pragma unroll
        for (int tile = 0; tile < TILES; tile++) {
          uint32_t a[4];
          queries.load(a, 2 * pair + i, tile, lane);
          if constexpr (K.hasZero) multiplyHalves(products[tile], a, b[i][0], b[i][1]);
          if constexpr (IS_FOLDED_ONCE) {
            fold(a, scales[i]);
            multiplyHalves(rounded[tile], a, ONES, ONES);
            Queries{own}.save(a, 2 * pair + i, tile, lane);
          }
        }
      }
    }
#pragma unroll
    for (int tile = 0; tile < TILES; tile++) {
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const float own = products[tile][i], other = K.hasZero ? __shfl_xor_sync(ALL, own, 2) : 0.0f;
        const bool hasZeros = lane % 4 < 2;
        middles[tile][i] = fmaf((hasZeros ? other : own) - rounded[tile][i], MIDDLE, hasZeros ? own : other);
      }
    }
  }

  static __device__ __forceinline__ void fold(uint32_t (&a)[4], const uint32_t (&scales)[2]) {
#pragma unroll
    for (int i = 0; i < 4; i++) a[i] = multipliedPairs(a[i], scales[i / 2]);
  }

  /// Sums of codes of a chunk of rows g and g + 8, and what is added to them.
  __device__ __forceinline__ void meet(float (&sums)[TILES][CHUNK_RUNS][4], float (&terms)[TILES][2], const Queries& queries,
                                       const uint8_t* page, int chunk, int lane) const {
    constexpr int FIELDS = fieldsOfByte(K.bits);
    constexpr int STRIPES = CHUNK_RUNS / FIELDS;
    const int group = chunk * CHUNK_TOKENS / K.groupSize;
    float rounded[TILES][4] = {};
#pragma unroll
    for (auto& tile : sums)
#pragma unroll
      for (auto& run : tile)
#pragma unroll
        for (float& sum : run) sum = 0.0f;
    const uint4* codes = reinterpret_cast<const uint4*>(page) + chunk * (STRIPES * STEPS / 4 * LANES) + lane;
#pragma unroll
    for (int four = 0; four < STEPS / 4; four++) {
      uint32_t words[STRIPES][4];
#pragma unroll
      for (int stripe = 0; stripe < STRIPES; stripe++) {
        const uint4 x = codes[(stripe * (STEPS / 4) + four) * LANES];
        words[stripe][0] = x.x, words[stripe][1] = x.y, words[stripe][2] = x.z, words[stripe][3] = x.w;
      }
#pragma unroll
      for (int pair = 0; pair < 2; pair++) {
        uint32_t scales[2][2];
        if constexpr (!IS_FOLDED_ONCE) loadParameters(scales, page + K.scaleByte(), group, 2 * four + pair, lane);
#pragma unroll
        for (int i = 0; i < 2; i++) {
          uint32_t a[TILES][4];
#pragma unroll
          for (int tile = 0; tile < TILES; tile++) {
            (IS_FOLDED_ONCE ? Queries{own} : queries).load(a[tile], 4 * four + 2 * pair + i, tile, lane);
            if constexpr (!IS_FOLDED_ONCE) {
              fold(a[tile], scales[i]);
              multiplyHalves(rounded[tile], a[tile], ONES, ONES);
            }
          }
#pragma unroll
          for (int stripe = 0; stripe < STRIPES; stripe++) {
            forFields<K.bits>(words[stripe][2 * pair + i], [&](int field, uint32_t b0, uint32_t b1) {
#pragma unroll
              for (int tile = 0; tile < TILES; tile++) multiplyHalves(sums[tile][stripe * FIELDS + field], a[tile], b0, b1);
            });
          }
        }
      }
    }
#pragma unroll
    for (int tile = 0; tile < TILES; tile++) {
#pragma unroll
      for (int row = 0; row < 2; row++) {
        const float term = group % 2 == 0 ? middles[tile][2 * row] : middles[tile][2 * row + 1];
        // Groups 2 and 3 are in lanes of odd t.
        terms[tile][row] = GROUPS > 2 ? __shfl_sync(ALL, term, (lane & ~3) + group / 2) : term;
        if constexpr (!IS_FOLDED_ONCE) terms[tile][row] = fmaf(rounded[tile][2 * row], -MIDDLE, terms[tile][row]);
      }
    }
  }
};

}  // namespace lowbit
