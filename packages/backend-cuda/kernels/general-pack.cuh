// Packs any plan into canonical pages, driven by numbers of the plan: what has no kernel of its own.
//
//   general_pack       rows, transforms, top outliers, parameters, codes   grid: runs of tokens, heads or 1, packs
//   general_outliers   outlier bytes of bands, behind it                   grid: heads, packs
//   general_gather     rows and transforms, to the scratch                 grid: runs of tokens, heads, statistics pages
//   general_measure    one plane of statistics, behind it                  grid: heads, statistics pages
//
// Blocks have GENERAL_THREADS threads. Where `job.scratch` is null they have `tileWords` words of dynamic shared memory.
#pragma once
#include "general-codec-pack.cuh"
#include "general-codes.cuh"
#include "general-measure.cuh"
#include "general-top.cuh"
#include "general-transforms.cuh"

namespace lowbit {

LOWBIT_INLINE void gatherTile(const GeneralJob& job, uint32_t x, uint32_t y, uint32_t z) {
  const Pack pack(job.commands, job.firstPack + z, 0);
  const GeneralTile tile = tileOf(job, pack, nullptr, x, y, z);
  loadRows(job, pack, tile);
  transformRows(job, statisticsOf(job, job.firstPack + z), tile);
}

LOWBIT_INLINE void packTile(const GeneralJob& job, BandsShared& shared, float* memory, uint32_t x, uint32_t y, uint32_t z) {
  const Pack pack(job.commands, job.firstPack + z, 0);
  const GeneralTile tile = tileOf(job, pack, memory, x, y, z);
  if (tile.tokens == 0) return;
  loadRows(job, pack, tile);
  transformRows(job, statisticsOf(job, job.firstPack + z), tile);
  if (isCodec(job.tensor)) {
    encodeGroups(job, tile, pack.piece);
    return;
  }
  if (job.tensor.topCount != 0) takeTopOutliers(job, tile, pack.piece);
  if (job.tensor.mode == GeneralMode::BANDS) settleBands(job, shared, tile, pack.piece);
  else settleGroups(job, tile, pack.piece);
  writeCodes(job, tile, pack.piece);
}

#if defined(__CUDACC__)
extern "C" __global__ void __launch_bounds__(GENERAL_THREADS) general_pack(const __grid_constant__ GeneralJob job) {
  extern __shared__ float generalTile[];
  __shared__ BandsShared shared;
  packTile(job, shared, generalTile, blockIdx.x, blockIdx.y, blockIdx.z);
}

extern "C" __global__ void __launch_bounds__(GENERAL_THREADS) general_outliers(const __grid_constant__ GeneralJob job) {
  __shared__ GeneralShared shared;
  writeOutliers(job, shared, blockIdx.x, blockIdx.y);
}

extern "C" __global__ void __launch_bounds__(GENERAL_THREADS) general_gather(const __grid_constant__ GeneralJob job) {
  gatherTile(job, blockIdx.x, blockIdx.y, blockIdx.z);
}

extern "C" __global__ void __launch_bounds__(GENERAL_THREADS) general_measure(const __grid_constant__ GeneralJob job) {
  __shared__ GeneralShared shared;
  measureHead(job, shared, blockIdx.x, blockIdx.y);
}
#endif

}  // namespace lowbit
