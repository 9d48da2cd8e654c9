// Packs f16 rows into pages: a CTA takes a tile of one head (pack-tile.cuh) through three phases with barriers between them.
//
//   load     rows into shared memory, 16 bytes a load, minima and maxima of patches on the way
//   settle   parameters of groups; how their elements become codes
//   write    codes as whole vectors of words, parameters as whole planes
//
// Nothing lives in a lane from phase to phase, so the host runs the same phases lane by lane.
// Grid: x = heads by tiles of a head, y = packs. THREADS lanes, SHARED_BYTES of dynamic shared memory.
#pragma once

#include "pack-codes.cuh"
#include "pack-measure.cuh"

namespace lowbit {

/// What a plan is, from plain numbers.
template <
  Tensor TENSOR, int BITS, Along ALONG, int GROUP, int HEAD_DIM, Mode MODE, CodeSet CODES = CodeSet::FULL,
  int ASYMMETRIC_BITS = BITS, bool TIE_ASYMMETRIC = false, bool HAS_FACTORS = false>
struct PackPlan {
  static constexpr PageLayout LAYOUT = {TENSOR, BITS, HEAD_DIM, ALONG, GROUP, MODE != Mode::SYMMETRIC, MODE == Mode::HYBRID};
  static constexpr Quantizer QUANTIZER = {MODE, CODES, ASYMMETRIC_BITS, TIE_ASYMMETRIC};
  /// Whether channels are multiplied with those of the statistics page, f16 [head][channel], where the job has any.
  static constexpr bool FACTORS = HAS_FACTORS;
};

template <typename Plan>
struct PackKernel {
  using Tile = PackTile<Plan>;
  using Shared = typename Tile::Shared;
  static constexpr int THREADS = Tile::THREADS;
  static constexpr int SHARED_BYTES = sizeof(Shared);

  template <int PHASE>
  static LOWBIT_INLINE void run(Shared& shared, const PackJob& job, uint32_t headTile, uint32_t number, uint32_t lane) {
    const uint32_t head = headTile / Tile::TILES;
    const uint32_t tile = headTile % Tile::TILES;
    if constexpr (PHASE == 0) {
      PackMeasure<Plan>::load(shared, job, Pack(job, number, head), head, tile * Tile::CHANNELS, lane);
    } else if constexpr (PHASE == 1) {
      LOWBIT_ROLLED
      for (uint32_t entry = lane; entry < Tile::ENTRIES; entry += THREADS) PackMeasure<Plan>::settleGroup(shared, entry);
    } else {
      PackCodes<Plan>::write(shared, Pack(job, number, head), tile, lane);
    }
  }

  /// A CTA on the host, in any memory.
  static void runOnHost(Shared& shared, const PackJob& job, uint32_t headTile, uint32_t number) {
    if (Pack::isEmpty(job, number)) return;
    for (uint32_t lane = 0; lane < THREADS; ++lane) run<0>(shared, job, headTile, number, lane);
    for (uint32_t lane = 0; lane < THREADS; ++lane) run<1>(shared, job, headTile, number, lane);
    for (uint32_t lane = 0; lane < THREADS; ++lane) run<2>(shared, job, headTile, number, lane);
  }

#if defined(__CUDACC__)
  static __device__ __forceinline__ void runOnDevice(const PackJob& job, uint32_t headTile, uint32_t number) {
    if (Pack::isEmpty(job, number)) return;
    extern __shared__ Chunk memory[];
    Shared& shared = *reinterpret_cast<Shared*>(memory);
    const uint32_t lane = threadIdx.x;
    run<0>(shared, job, headTile, number, lane);
    __syncthreads();
    run<1>(shared, job, headTile, number, lane);
    __syncthreads();
    run<2>(shared, job, headTile, number, lane);
  }
#endif
};

#if defined(__CUDACC__)
template <typename Plan>
__global__ void __launch_bounds__(PackKernel<Plan>::THREADS, 1024 / PackKernel<Plan>::THREADS) packTiles(const PackJob job) {
  PackKernel<Plan>::runOnDevice(job, blockIdx.x, blockIdx.y);
}
#endif

}  // namespace lowbit
