// Kernels of a stream that overlap (programmatic dependent launch, compute capability 9.0): the next one may be on the card, and read
// what no kernel writes, before the one in front of it ends.
#pragma once

namespace lowbit {

#if defined(__CUDACC__)
/// Until the kernel in front has ended, and what it wrote is there. Every kernel that is launched to overlap calls this before it
/// ends, so that the end of one is the end of all before it.
__device__ __forceinline__ void awaitPreviousKernel() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// The next kernel may be brought onto the card from now on.
__device__ __forceinline__ void letNextKernelStart() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
#endif

}  // namespace lowbit
