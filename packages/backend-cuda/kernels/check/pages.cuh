// Random pages, windows and statistics that checks of attention share, and times of launches in a CUDA graph.
#pragma once
#include "../job.cuh"
#include "../layout.cuh"
#include "host.cuh"

#include <cmath>
#include <numeric>

using namespace lowbit;

constexpr int KV_HEADS = 2;
constexpr int WINDOW_TOKENS = 32;
constexpr int WINDOW_PAGES = 8;
constexpr int INPUT_ROWS = 40;
constexpr float LOG2E = 1.4426950408889634f;

/// A piece of random codes, and what they decode to.
template <PageLayout L>
void fillPiece(uint8_t* piece, float* decoded) {
  std::memset(piece, 0, L.bytes());
  const int others = L.along == Along::TOKENS ? L.headDim : PAGE_TOKENS;
  constexpr bool isFoldedValue = L.tensor == Tensor::VALUE && L.along == Along::CHANNELS;
  std::vector<float> scales(L.entries()), zeros(L.entries());
  for (int group = 0; group < L.groups(); group++) {
    for (int other = 0; other < others; other++) {
      const int entry = L.parameterPlace(group, other);
      const bool isLoud = L.tensor == Tensor::KEY && L.along == Along::TOKENS && (other == 3 || other == 45);
      const float range = (0.5f + uniform()) * 3.0f * (isLoud ? 4.0f : 1.0f);
      const bool isAround = !L.hasZero || (L.isHybrid && below(2) == 0);
      // Scales around zero may be negative, where they are not folded into weights; of hybrid groups the sign is the mode.
      const bool isNegative = L.isHybrid ? !isAround : !L.hasZero && !isFoldedValue && below(2) == 0;
      const uint16_t scale = bitsOf((isNegative ? -1.0f : 1.0f) * range / ((1 << L.bits) - 1));
      const uint16_t zero = isAround ? 0 : bitsOf(-0.5f * range * (0.8f + 0.4f * uniform()));
      std::memcpy(piece + L.scaleByte() + 2 * entry, &scale, 2);
      if (L.hasZero) std::memcpy(piece + L.zeroByte() + 2 * entry, &zero, 2);
      scales[entry] = L.isHybrid ? std::fabs(valueOf(scale)) : valueOf(scale);
      zeros[entry] = isAround ? -scales[entry] * (1 << (L.bits - 1)) : valueOf(zero);
    }
  }
  for (int token = 0; token < PAGE_TOKENS; token++) {
    for (int channel = 0; channel < L.headDim; channel++) {
      const unsigned code = below(1u << L.bits);
      for (int i = 0; i < L.bits; i++) {
        const int bit = L.codeBit(token, channel, i);
        piece[bit / 8] |= (code >> i & 1u) << (bit % 8);
      }
      const bool alongTokens = L.along == Along::TOKENS;
      const int entry = L.parameterPlace((alongTokens ? token : channel) / L.groupSize, alongTokens ? channel : token);
      if (decoded != nullptr) decoded[token * L.headDim + channel] = code * scales[entry] + zeros[entry];
    }
  }
}

/// Pages and windows of one tensor, on both sides.
template <PageLayout L>
struct Pool {
  std::vector<uint8_t> pieces;
  std::vector<float> decoded;
  std::vector<__half> windows = std::vector<__half>(size_t{WINDOW_PAGES} * KV_HEADS * WINDOW_TOKENS * L.headDim);
  std::vector<__half> input = std::vector<__half>(size_t{INPUT_ROWS} * KV_HEADS * L.headDim);

  explicit Pool(int pages) : pieces(size_t(pages) * KV_HEADS * L.bytes()), decoded(size_t(pages) * KV_HEADS * PAGE_TOKENS * L.headDim) {
    for (int i = 0; i < pages * KV_HEADS; i++)
      fillPiece<L>(&pieces[size_t(i) * L.bytes()], &decoded[size_t(i) * PAGE_TOKENS * L.headDim]);
    for (auto* rows : {&windows, &input})
      for (__half& value : *rows) value = __float2half_rn(normal());
  }

  float at(unsigned place, int head, int channel) const {
    const size_t row = place & 0x3fffffffu;
    if (place >> 30 == 0) return decoded[((row / PAGE_TOKENS * KV_HEADS + head) * PAGE_TOKENS + row % PAGE_TOKENS) * L.headDim + channel];
    const size_t first = place >> 30 == 1 ? (row / WINDOW_TOKENS * KV_HEADS + head) * WINDOW_TOKENS + row % WINDOW_TOKENS : row * KV_HEADS + head;
    return __half2float((place >> 30 == 1 ? windows : input)[first * L.headDim + channel]);
  }
};

struct Token {
  unsigned key, value;
  int position;
};

/// f16 factors of packed keys, [sequence][head][channel].
struct Statistics {
  std::vector<__half> reciprocals;
  int headDim;

  Statistics(int batch, int headDim) : reciprocals(size_t(batch) * KV_HEADS * headDim), headDim(headDim) {
    for (__half& value : reciprocals) value = __float2half_rn(0.3f + 2.0f * uniform());
  }

  /// What a decoded key is multiplied with.
  float factor(unsigned place, int sequence, int head, int channel) const {
    if (place >> 30 != 0) return 1.0f;
    return 1.0f / __half2float(reciprocals[(size_t(sequence) * KV_HEADS + head) * headDim + channel]);
  }
};

struct Times {
  float burst, sustained;
};

/// Microseconds of each of `copies` launches, which `launch(copy, stream)` makes.
template <class Launch>
Times timesOf(int copies, Launch launch) {
  constexpr int BURSTS = 25;
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  cudaEvent_t begin, end;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int copy = 0; copy < copies; copy++) launch(copy, stream);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  const auto once = [&] {
    float milliseconds;
    CHECK(cudaEventRecord(begin, stream));
    CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaEventRecord(end, stream));
    CHECK(cudaEventSynchronize(end));
    CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
    return 1000.0f * milliseconds / copies;
  };
  const auto median = [](std::vector<float> times) {
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  };
  std::vector<float> bursts, sustained;
  for (int i = 0; i < BURSTS; i++) bursts.push_back(once());
  for (float spent = 0; spent < 0.5e6f; spent += sustained.back() * copies) sustained.push_back(once());
  sustained.erase(sustained.begin(), sustained.begin() + sustained.size() * 2 / 3);
  return {median(bursts), median(sustained)};
}

/// Memory of `pages` pages of random codes; a few are drawn, over and over.
template <PageLayout L>
uint8_t* randomPages(size_t pages, int kvHeads) {
  constexpr int DISTINCT = 32;
  std::vector<uint8_t> some(size_t{DISTINCT} * kvHeads * L.bytes());
  for (int i = 0; i < DISTINCT * kvHeads; i++) fillPiece<L>(&some[size_t(i) * L.bytes()], nullptr);
  const size_t bytes = pages * kvHeads * L.bytes();
  uint8_t* memory = allocate<uint8_t>(bytes);
  for (size_t at = 0; at < bytes; at += some.size())
    CHECK(cudaMemcpy(memory + at, some.data(), std::min(some.size(), bytes - at), cudaMemcpyHostToDevice));
  return memory;
}

/// Of keys and values, in the notation of tables of kernels.
__host__ __device__ constexpr PageLayout keys(int bits, Along along, int size, bool hasZero, int dim = 128) {
  return {Tensor::KEY, bits, dim, along, size, hasZero};
}
__host__ __device__ constexpr PageLayout values(int bits, Along along, int size, bool hasZero, int dim = 128, bool isHybrid = false) {
  return {Tensor::VALUE, bits, dim, along, size, hasZero, isHybrid};
}
constexpr Along TOKENS = Along::TOKENS, CHANNELS = Along::CHANNELS;
