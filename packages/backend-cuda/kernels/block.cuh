// Blocks of threads that the host can run too: phases with barriers between them.
#pragma once
#include "halves.cuh"

/// Functions that are called seldom, and stay functions.
#if defined(__CUDACC__)
#define LOWBIT_COLD __host__ __device__ __noinline__
#else
#define LOWBIT_COLD
#endif

namespace lowbit {

/// What lives in a thread from phase to phase.
template <typename T, int THREADS>
struct PerThread {
#if defined(__CUDA_ARCH__)
  T value;
  LOWBIT_INLINE T& operator[](uint32_t) { return value; }
#else
  T values[THREADS];
  T& operator[](uint32_t thread) { return values[thread]; }
#endif
};

/// Runs a phase in every thread of a block; all have ended before the next one.
template <int THREADS, typename Phase>
LOWBIT_INLINE void inAllThreads(Phase phase) {
#if defined(__CUDA_ARCH__)
  phase(threadIdx.x);
  __syncthreads();
#elif defined(LOWBIT_LAST_THREAD_FIRST)
  // Threads of a phase that wait for one another come out wrong in one of the two orders.
  for (uint32_t thread = THREADS; thread-- > 0;) phase(thread);
#else
  for (uint32_t thread = 0; thread < THREADS; ++thread) phase(thread);
#endif
}

}  // namespace lowbit
