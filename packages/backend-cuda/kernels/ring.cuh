// Pages on their way into shared memory: bulk copies and barriers where there are any (compute capability 9.0), else copies of
// 16 bytes a lane.
#pragma once
#include "layout.cuh"
#include "mma.cuh"

namespace lowbit {

/// Two slots of a warp, for the keys and the values of a page, or one that they have in turns. All lanes call.
template <int KEY_BYTES, int VALUE_BYTES, bool IS_ONE_SLOT = false>
struct Ring {
  static_assert(KEY_BYTES % 16 == 0 && VALUE_BYTES % 16 == 0);
  static constexpr int BYTES = IS_ONE_SLOT ? (KEY_BYTES > VALUE_BYTES ? KEY_BYTES : VALUE_BYTES) : KEY_BYTES + VALUE_BYTES;
  /// Of barriers, behind the slots of all warps.
  static constexpr int BARRIER_BYTES = LOWBIT_BULK ? 16 : 0;
  uint8_t* key;
  uint8_t* value;
  uint32_t barriers;

  __device__ __forceinline__ Ring(uint8_t* shared, int warp, int warps, int lane)
      : key(shared + warp * BYTES), value(key + (IS_ONE_SLOT ? 0 : KEY_BYTES)), barriers(sharedAddress(shared + warps * BYTES) + 16 * warp) {
#if LOWBIT_BULK
    if (lane == 0) {
      initBarrier(barriers, 1);
      initBarrier(barriers + 8, 1);
      publishBarriers();
    }
    __syncwarp();
#endif
  }

  /// `bytes`: of the piece, a multiple of 16.
  __device__ __forceinline__ void fetchKey(const uint8_t* piece, int lane, int bytes = KEY_BYTES) { fetch(key, piece, bytes, barriers, lane); }
  __device__ __forceinline__ void fetchValue(const uint8_t* piece, int lane, int bytes = VALUE_BYTES) {
    fetch(value, piece, bytes, barriers + 8, lane);
  }

  /// Pages that are fetched later, on their way to the L2 cache.
  static __device__ __forceinline__ void announce(const uint8_t* keyPiece, const uint8_t* valuePiece, int lane) {
#if LOWBIT_BULK
    if (lane == 0) prefetchBulk(keyPiece, KEY_BYTES), prefetchBulk(valuePiece, VALUE_BYTES);
#endif
  }

  /// Fetches of keys and of values take turns, two of them ahead of what is awaited, one where there is one slot; `skip` stands for
  /// those there is nothing for.
  __device__ __forceinline__ void awaitKey(int turn) { await(barriers, turn); }
  __device__ __forceinline__ void awaitValue(int turn) { await(barriers + 8, turn); }

  /// After lanes have used the slots themselves.
  static __device__ __forceinline__ void giveBack() {
#if LOWBIT_BULK
    fenceCopies();
#endif
    __syncwarp();
  }

  static __device__ __forceinline__ void skip() {
#if !LOWBIT_BULK
    closeCopies();
#endif
  }

 private:
  static __device__ __forceinline__ void fetch(uint8_t* slot, const uint8_t* piece, int bytes, uint32_t barrier, int lane) {
#if LOWBIT_BULK
    if (lane == 0) copyBulk(sharedAddress(slot), piece, bytes, barrier);
#else
    for (int at = 16 * lane; at < bytes; at += 16 * LANES) copy16(sharedAddress(slot + at), piece + at);
    closeCopies();
#endif
  }

  static __device__ __forceinline__ void await(uint32_t barrier, int turn) {
#if LOWBIT_BULK
    waitBarrier(barrier, turn % 2);
#else
    if (IS_ONE_SLOT) awaitAllCopies();
    else awaitCopiesButOne();
    __syncwarp();
#endif
  }
};

}  // namespace lowbit
