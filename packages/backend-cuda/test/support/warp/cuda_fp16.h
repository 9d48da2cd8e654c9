// Words of CUDA C++ that attention kernels use, for the host.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>

#include "lanes.h"

// Headers look at this to tell kernels from what the host shares with them.
#define __CUDACC__
#define __host__
#define __device__
#define __global__
#define __shared__
#define __forceinline__ inline
#define __noinline__
#define __align__(BYTES)
#define __launch_bounds__(...)

using std::max;
using std::min;
using std::signbit;

#define threadIdx (host::block.lane->thread)
#define blockIdx (host::block.index)
#define gridDim (host::block.grid)
#define blockDim (host::Dimensions{static_cast<unsigned>(host::blockThreads), 1, 1})

namespace host {
static int blockThreads;
}

struct uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct alignas(16) int4 { int x, y, z, w; };
struct float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

struct __half {
  uint16_t bits;
};
struct __half2 {
  __half low, high;
};
inline float __half2float(__half value) { return static_cast<float>(std::bit_cast<_Float16>(value.bits)); }
inline __half __float2half_rn(float value) { return {std::bit_cast<uint16_t>(static_cast<_Float16>(value))}; }
inline __half2 __halves2half2(__half low, __half high) { return {low, high}; }
inline __half2 __floats2half2_rn(float low, float high) { return {__float2half_rn(low), __float2half_rn(high)}; }
inline __half2 __float2half2_rn(float value) { return __floats2half2_rn(value, value); }
inline float __low2float(__half2 pair) { return __half2float(pair.low); }
inline float __high2float(__half2 pair) { return __half2float(pair.high); }
/// Of two f16 numbers one that is rounded once: doubles hold their products and sums.
template <class Of>
inline __half2 eachHalf(Of of, __half2 a, __half2 b, __half2 c = {}) {
  const auto one = [&](__half x, __half y, __half z) {
    return __half{std::bit_cast<uint16_t>(static_cast<_Float16>(of(double(__half2float(x)), double(__half2float(y)), double(__half2float(z)))))};
  };
  return {one(a.low, b.low, c.low), one(a.high, b.high, c.high)};
}
inline __half __ushort_as_half(uint16_t bits) { return {bits}; }
inline __half __low2half(__half2 pair) { return pair.low; }
inline __half __high2half(__half2 pair) { return pair.high; }
inline __half __hsub(__half a, __half b) { return eachHalf([](double x, double y, double) { return x - y; }, {a, a}, {b, b}).low; }
inline __half __hfma(__half a, __half b, __half c) {
  return eachHalf([](double x, double y, double z) { return x * y + z; }, {a, a}, {b, b}, {c, c}).low;
}
inline __half2 __hmul2(__half2 a, __half2 b) { return eachHalf([](double x, double y, double) { return x * y; }, a, b); }
inline __half2 __hfma2(__half2 a, __half2 b, __half2 c) { return eachHalf([](double x, double y, double z) { return x * y + z; }, a, b, c); }
inline __half2 __hsub2(__half2 a, __half2 b) { return eachHalf([](double x, double y, double z) { return x - y + z; }, a, b, {}); }
inline __half2 __hmax2(__half2 a, __half2 b) {
  return eachHalf([](double x, double y, double) { return std::isnan(x) ? y : std::isnan(y) ? x : std::max(x, y); }, a, b);
}

inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __fdividef(float x, float y) { return x / y; }
inline int __popc(unsigned x) { return std::popcount(x); }
template <class T>
T __ldg(const T* at) { return *at; }
template <class T>
T __ldcg(const T* at) { return *at; }

inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const uint64_t both = static_cast<uint64_t>(y) << 32 | x;
  unsigned result = 0;
  for (int i = 0; i < 4; i++) {
    if (selector >> (4 * i + 3) & 1) host::fail("a selector that copies signs");
    result |= static_cast<unsigned>(both >> 8 * (selector >> 4 * i & 7) & 255) << 8 * i;
  }
  return result;
}

inline void __syncwarp() { host::together<int>("__syncwarp", 0, [](auto&, auto&) {}); }
inline void __syncthreads() { host::meet(host::block.meeting, host::blockThreads, [] {}); }
inline bool __syncthreads_or(bool vote) {
  host::block.votes |= vote;
  host::meet(host::block.meeting, host::blockThreads, [] { host::block.vote = host::block.votes, host::block.votes = 0; });
  return host::block.vote != 0;
}

template <class T>
T __shfl_sync(unsigned, T value, int from) {
  struct Given { T value; int from; };
  return host::together<T>("__shfl_sync", Given{value, from}, [](auto& given, auto& taken) {
    for (int i = 0; i < host::LANES; i++) *taken[i] = given[given[i]->from & 31]->value;
  });
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits) { return __shfl_sync(mask, value, static_cast<int>(host::laneNumber()) ^ bits); }
inline unsigned __ballot_sync(unsigned, bool vote) {
  return host::together<unsigned>("__ballot_sync", vote, [](auto& given, auto& taken) {
    unsigned votes = 0;
    for (int i = 0; i < host::LANES; i++) votes |= static_cast<unsigned>(*given[i]) << i;
    for (int i = 0; i < host::LANES; i++) *taken[i] = votes;
  });
}
inline bool __any_sync(unsigned mask, bool vote) { return __ballot_sync(mask, vote) != 0; }
template <class T, class Reduce>
T reduced(const char* what, T value, Reduce reduce) {
  return host::together<T>(what, value, [&](auto& given, auto& taken) {
    T all = *given[0];
    for (int i = 1; i < host::LANES; i++) all = reduce(all, *given[i]);
    for (int i = 0; i < host::LANES; i++) *taken[i] = all;
  });
}
inline unsigned __reduce_or_sync(unsigned, unsigned x) { return reduced("__reduce_or_sync", x, [](unsigned a, unsigned b) { return a | b; }); }
template <class T>
T __reduce_min_sync(unsigned, T x) { return reduced("__reduce_min_sync", x, [](T a, T b) { return std::min(a, b); }); }
template <class T>
T __reduce_max_sync(unsigned, T x) { return reduced("__reduce_max_sync", x, [](T a, T b) { return std::max(a, b); }); }
