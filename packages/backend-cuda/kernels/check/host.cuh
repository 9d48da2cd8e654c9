// What checks on a card share: errors of calls, uploads, random numbers.
#pragma once
#include <cuda_fp16.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#define CHECK(call)                                                                     \
  do {                                                                                  \
    const cudaError_t error = (call);                                                   \
    if (error != cudaSuccess) {                                                         \
      std::printf("%s:%d %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error)); \
      std::exit(1);                                                                     \
    }                                                                                   \
  } while (0)

inline std::mt19937_64& generator() {
  static std::mt19937_64 instance(1);
  return instance;
}
inline unsigned below(unsigned end) { return static_cast<unsigned>(generator()() % end); }
inline float uniform() { return static_cast<float>(generator()() >> 40) / 16777216.0f; }
inline float normal() {
  static std::normal_distribution<float> distribution;
  return distribution(generator());
}

template <class T>
T* allocate(size_t count) {
  T* memory;
  CHECK(cudaMalloc(&memory, std::max<size_t>(16, count * sizeof(T))));
  CHECK(cudaMemset(memory, 0, std::max<size_t>(16, count * sizeof(T))));
  return memory;
}

template <class T>
T* upload(const std::vector<T>& values) {
  T* memory = allocate<T>(values.size());
  CHECK(cudaMemcpy(memory, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return memory;
}

template <class T>
std::vector<T> download(const T* memory, size_t count) {
  std::vector<T> values(count);
  CHECK(cudaMemcpy(values.data(), memory, count * sizeof(T), cudaMemcpyDeviceToHost));
  return values;
}

inline uint16_t bitsOf(float value) {
  const __half half = __float2half_rn(value);
  uint16_t bits;
  std::memcpy(&bits, &half, 2);
  return bits;
}

inline float valueOf(uint16_t bits) {
  __half half;
  std::memcpy(&half, &bits, 2);
  return __half2float(half);
}
