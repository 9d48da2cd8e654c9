// An append of a layer in one launch, both tensors side by side: tokens that are packed (pack.cuh), rows that go to window pages, and
// rows that are only looked at. No pack reads what the same append writes.
//
// Grid: the blocks of both jobs, packs first. Blocks and dynamic shared memory of the larger of both plans' packing kernels.
#pragma once

#include "move.cuh"
#include "overlap.cuh"
#include "pack.cuh"

namespace lowbit {

/// What happens to one tensor.
struct AppendJob {
  PackJob pack;
  WriteJob write;
  CheckJob check;
  /// Blocks of each part. Those of packs are by pack, then by head and tile.
  uint32_t packBlocks;
  uint32_t headTiles;
  uint32_t writeBlocks;
  uint32_t checkBlocks;
};

/// A block of the launch. `packKeys` and `packValues` are called with the head tile and the number of a pack.
template <int THREADS, typename PackKeys, typename PackValues>
LOWBIT_INLINE void appendBlock(const AppendJob& keys, const AppendJob& values, uint32_t block, PackKeys packKeys, PackValues packValues) {
  if (block < keys.packBlocks) return packKeys(block % keys.headTiles, block / keys.headTiles);
  block -= keys.packBlocks;
  if (block < values.packBlocks) return packValues(block % values.headTiles, block / values.headTiles);
  block -= values.packBlocks;
  const bool isKey = block < keys.writeBlocks + keys.checkBlocks;
  const AppendJob& job = isKey ? keys : values;
  if (!isKey) block -= keys.writeBlocks + keys.checkBlocks;
  if (block < job.writeBlocks) return writeRows<THREADS>(job.write, block / job.write.heads, block % job.write.heads);
  checkValues<THREADS>(job.check, block - job.writeBlocks, job.checkBlocks);
}

#if defined(__CUDACC__)
template <typename KeyPlan, typename ValuePlan>
struct AppendKernel {
  static constexpr int THREADS = PackKernel<KeyPlan>::THREADS;
  static_assert(THREADS == PackKernel<ValuePlan>::THREADS, "keys and values have one head dim");

  static __device__ __forceinline__ void run(const AppendJob& keys, const AppendJob& values) {
    letNextKernelStart();
    awaitPreviousKernel();
    appendBlock<THREADS>(
      keys, values, blockIdx.x,
      [&](uint32_t headTile, uint32_t number) { PackKernel<KeyPlan>::runOnDevice(keys.pack, headTile, number); },
      [&](uint32_t headTile, uint32_t number) { PackKernel<ValuePlan>::runOnDevice(values.pack, headTile, number); });
  }
};
#endif

}  // namespace lowbit
