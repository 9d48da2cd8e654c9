// Rows of several query tokens, as A of f16 tensor cores, 16 of them to a tile: heads of a kv head of one token, then those of the
// next one. They lie in shared memory as lanes load them, for all warps of a block:
//
//   uint4 of lane (g, t): [step of 16 channels][tile][lane], registers 0 and 1 channels 4 t and 4 t + 2 of rows g and g + 8,
//   registers 2 and 3 channels 4 t + 1 and 4 t + 3: the order in which words of codes give theirs (half-codes.cuh).
#pragma once
#include "queries.cuh"

namespace lowbit {

template <int HEAD_DIM, int TILES>
struct RowQueries {
  static_assert(HEAD_DIM == 4 * LANES, "lanes load four channels each");
  static constexpr int ROWS = 16 * TILES;
  static constexpr int PART_BYTES = HEAD_DIM / 16 * TILES * LANES * 16;
  static constexpr int BYTES = PART_BYTES + ROWS * 4;

  uint8_t* shared;

  /// What elements of a row were divided by, a power of two: they are less than 1, so that no f16 scale makes them infinite.
  __device__ __forceinline__ float& unitOf(int row) const { return reinterpret_cast<float*>(shared + PART_BYTES)[row]; }

  /// A warp stores a row. `first`: its first element. `reciprocals`: f16 factors of the channels of packed keys, or null.
  __device__ __forceinline__ void store(int row, bool isThere, const void* queries, QueryType type, size_t first,
                                        const __half* reciprocals, int lane) const {
    float x[1][4] = {};
    if (isThere) loadFours(x, queries, type, first + 4 * lane);
    if (reciprocals != nullptr) {
      const uint2 r = __ldg(reinterpret_cast<const uint2*>(reciprocals) + lane);
      x[0][0] *= 1.0f / lowHalf(r.x), x[0][1] *= 1.0f / highHalf(r.x);
      x[0][2] *= 1.0f / lowHalf(r.y), x[0][3] *= 1.0f / highHalf(r.y);
    }
    const float largest = fmaxf(fmaxf(fabsf(x[0][0]), fabsf(x[0][1])), fmaxf(fabsf(x[0][2]), fabsf(x[0][3])));
    const uint32_t bits = __reduce_max_sync(ALL, __float_as_uint(largest));
    const int exponent = min(max(static_cast<int>(bits >> 23), 2), 250);
    const float inverse = __uint_as_float(static_cast<uint32_t>(253 - exponent) << 23);
    const __half2 even = __floats2half2_rn(x[0][0] * inverse, x[0][2] * inverse);
    const __half2 odd = __floats2half2_rn(x[0][1] * inverse, x[0][3] * inverse);
    uint32_t* own = reinterpret_cast<uint32_t*>(shared) + ((lane / 4 * TILES + row / 16) * LANES + row % 8 * 4 + lane % 4) * 4;
    own[row % 16 / 8] = *reinterpret_cast<const uint32_t*>(&even);
    own[2 + row % 16 / 8] = *reinterpret_cast<const uint32_t*>(&odd);
    if (lane == 0) unitOf(row) = __uint_as_float(static_cast<uint32_t>(exponent + 1) << 23);
  }

  __device__ __forceinline__ void load(uint32_t (&a)[4], int step, int tile, int lane) const {
    const uint4 x = reinterpret_cast<const uint4*>(shared)[(step * TILES + tile) * LANES + lane];
    a[0] = x.x, a[1] = x.y, a[2] = x.z, a[3] = x.w;
  }

  __device__ __forceinline__ void save(const uint32_t (&a)[4], int step, int tile, int lane) const {
    reinterpret_cast<uint4*>(shared)[(step * TILES + tile) * LANES + lane] = make_uint4(a[0], a[1], a[2], a[3]);
  }
};

}  // namespace lowbit
