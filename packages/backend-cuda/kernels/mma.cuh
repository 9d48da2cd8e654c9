// Instructions that CUDA C++ has no words for: tensor cores, matrix transposes, bulk copies and their barriers.
#pragma once
#include <cstdint>
#include <cuda_fp16.h>

#if !defined(LOWBIT_BULK)
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define LOWBIT_BULK 0
#else
#define LOWBIT_BULK 1
#endif
#endif

namespace lowbit {

/// m16n8k32: u8 codes by s8 halves of queries.
__device__ __forceinline__ void multiplySigned(int (&sum)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// m16n8k32: u8 codes by u8 halves of weights.
__device__ __forceinline__ void multiplyUnsigned(int (&sum)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// m16n8k16 in f16 with sums in f32.
__device__ __forceinline__ void multiplyHalves(float (&sum)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Transposes the 8 by 8 matrix of 16-bit elements that a warp holds, two neighbours of row lane / 4 to a lane.
__device__ __forceinline__ uint32_t transposed(uint32_t rows) {
  uint32_t columns;
  asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(columns) : "r"(rows));
  return columns;
}

__device__ __forceinline__ float exp2Fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// Four 8 by 8 matrices of 16-bit elements: lanes 8 i to 8 i + 7 give the rows of matrix i.
__device__ __forceinline__ void loadMatrices(uint32_t (&a)[4], uint32_t row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
               : "r"(row)
               : "memory");
}

/// Four 8 by 8 matrices of 16-bit elements, turned: lanes 8 i to 8 i + 7 give the rows of matrix i.
__device__ __forceinline__ void loadTransposed(uint32_t (&a)[4], uint32_t row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
               : "r"(row)
               : "memory");
}

__device__ __forceinline__ uint32_t sharedAddress(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ void copy16(uint32_t shared, const void* global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(__cvta_generic_to_global(global)) : "memory");
}

/// Adds 1, and begins again at 0 behind `last`. What threads of the CTA did before a barrier comes before it, for whoever counts
/// later, and what they do behind a barrier comes after. Gives the count before.
__device__ __forceinline__ unsigned countOne(unsigned* counter, unsigned last) {
  unsigned before;
  asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;" : "=r"(before) : "l"(__cvta_generic_to_global(counter)), "r"(last) : "memory");
  return before;
}

__device__ __forceinline__ void copy4(uint32_t shared, const void* global) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared), "l"(__cvta_generic_to_global(global)) : "memory");
}

__device__ __forceinline__ void awaitAllCopies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

/// The line of an address, into the L2 cache only.
__device__ __forceinline__ void prefetchLine(const void* global) { asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(global)) : "memory"); }

#if LOWBIT_BULK
__device__ __forceinline__ void initBarrier(uint32_t barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals));
}

/// Barriers are seen by the copy engine after this.
__device__ __forceinline__ void publishBarriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/// What this thread has done to shared memory comes before what the copy engine does to it.
__device__ __forceinline__ void fenceCopies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

__device__ __forceinline__ void copyBulk(uint32_t shared, const void* global, int bytes, uint32_t barrier) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared),
      "l"(__cvta_generic_to_global(global)), "r"(bytes), "r"(barrier)
      : "memory");
}

__device__ __forceinline__ void waitBarrier(uint32_t barrier, uint32_t phase) {
  asm volatile(
      "{\n.reg .pred done;\nWAIT_%=:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra WAIT_%=;\n}" ::"r"(barrier),
      "r"(phase)
      : "memory");
}
/// Into the L2 cache only.
__device__ __forceinline__ void prefetchBulk(const void* global, int bytes) {
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(__cvta_generic_to_global(global)), "r"(bytes) : "memory");
}
#else
/// Copies since the last call are one group.
__device__ __forceinline__ void closeCopies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

/// Until all groups but the last have come.
__device__ __forceinline__ void awaitCopiesButOne() { asm volatile("cp.async.wait_group 1;" ::: "memory"); }
#endif

}  // namespace lowbit
