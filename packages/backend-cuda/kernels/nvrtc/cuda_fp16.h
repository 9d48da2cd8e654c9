// Of the toolkit's header what general kernels use: NVRTC brings none, and machines with a driver only have none.
#pragma once

struct __half {
  unsigned short bits;
};

__device__ __forceinline__ __half __ushort_as_half(unsigned short bits) { return __half{bits}; }

__device__ __forceinline__ unsigned short __half_as_ushort(__half value) { return value.bits; }

__device__ __forceinline__ float __half2float(__half value) {
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value.bits));
  return result;
}

__device__ __forceinline__ __half __float2half_rn(float value) {
  __half result;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
  return result;
}
