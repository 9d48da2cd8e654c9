// Tokens that are on no page: windows, new tokens, and tokens that one tensor has packed and the other has not.
#pragma once
#include "job.cuh"
#include "queries.cuh"
#include "values.cuh"

namespace lowbit {

/// cap * tanh(logit / cap), as cap - 2 cap / (e^(2 logit / cap) + 1).
template <int N>
__device__ __forceinline__ void capLogits(float (&logits)[N], float cap) {
  const float slope = 2.0f * 1.44269504f / cap;
#pragma unroll
  for (int i = 0; i < N; i++) logits[i] = cap - __fdividef(2.0f * cap, exp2Fast(logits[i] * slope) + 1.0f);
}

constexpr unsigned PACKED = 0, WINDOW = 1;

__device__ __forceinline__ unsigned sourceOf(unsigned place) { return place >> 30; }
__device__ __forceinline__ unsigned rowNumberOf(unsigned place) { return place & 0x3fffffffu; }

/// The f16 row of a token that is on no packed page.
template <PageLayout L>
__device__ __forceinline__ const __half* plainRow(const DecodeJob& job, unsigned place, int head) {
  constexpr bool IS_KEY = L.tensor == Tensor::KEY;
  const size_t row = rowNumberOf(place);
  if (sourceOf(place) == WINDOW) {
    const size_t first = (row / job.windowTokens * job.kvHeads + head) * job.windowTokens + row % job.windowTokens;
    return (IS_KEY ? job.keyWindows : job.valueWindows) + first * L.headDim;
  }
  return (IS_KEY ? job.keyInput : job.valueInput) + (row * job.kvHeads + head) * L.headDim;
}

/// Rows of 16 tokens of a tensor: those on packed pages are decoded into `scratch`, rounded to f16.
template <PageLayout L>
struct RestRows {
  /// Channels of a lane, and tokens whose bytes are on their way together.
  static constexpr int CHANNELS = L.headDim / LANES;
  static constexpr int BATCH = CHANNELS <= 4 ? 4 : 2;
  __half* scratch;

  /// All lanes call; lanes t and t + 16 give the place of token t.
  __device__ __forceinline__ void decode(const DecodeJob& job, unsigned held, int head, int lane) const {
    const uint8_t* pieces = (L.tensor == Tensor::KEY ? job.keys : job.values) + static_cast<size_t>(head) * L.bytes();
    const size_t pageBytes = static_cast<size_t>(job.kvHeads) * L.bytes();
#pragma unroll 1
    for (int first = 0; first < 16; first += BATCH) {
      uint8_t codes[BATCH][CHANNELS];
      __half scales[BATCH][CHANNELS], zeros[BATCH][CHANNELS];
      bool packed[BATCH];
      int slots[BATCH];
#pragma unroll
      for (int i = 0; i < BATCH; i++) {
        const unsigned place = __shfl_sync(ALL, held, first + i);
        packed[i] = sourceOf(place) == PACKED;
        slots[i] = static_cast<int>(rowNumberOf(place) % PAGE_TOKENS);
        const uint8_t* piece = pieces + rowNumberOf(place) / PAGE_TOKENS * pageBytes;
#pragma unroll
        for (int c = 0; c < CHANNELS; c++) {
          const int channel = lane + LANES * c;
          const bool alongTokens = L.along == Along::TOKENS;
          const int entry = L.parameterPlace((alongTokens ? slots[i] : channel) / L.groupSize, alongTokens ? channel : slots[i]);
          codes[i][c] = packed[i] ? __ldg(piece + L.codeBit(slots[i], channel) / 8) : uint8_t(0);
          scales[i][c] = packed[i] ? __ldg(reinterpret_cast<const __half*>(piece + L.scaleByte()) + entry) : __half();
          if constexpr (L.hasZero) zeros[i][c] = packed[i] ? __ldg(reinterpret_cast<const __half*>(piece + L.zeroByte()) + entry) : __half();
        }
      }
#pragma unroll
      for (int i = 0; i < BATCH; i++) {
        if (!packed[i]) continue;
#pragma unroll
        for (int c = 0; c < CHANNELS; c++) {
          const int channel = lane + LANES * c;
          const float code = static_cast<float>(codes[i][c] >> (L.codeBit(slots[i], channel) % 8) & ((1 << L.bits) - 1));
          const float scale = __half2float(scales[i][c]);
          const float zero = L.hasZero ? __half2float(zeros[i][c]) : -scale * (1 << (L.bits - 1));
          scratch[(first + i) * L.headDim + channel] = __float2half_rn(fmaf(code, scale, zero));
        }
      }
    }
  }

  __device__ __forceinline__ const __half* of(const DecodeJob& job, unsigned place, int token, int head) const {
    return sourceOf(place) == PACKED ? scratch + token * L.headDim : plainRow<L>(job, place, head);
  }
};

__device__ __forceinline__ uint32_t pairOf(__half low, __half high) {
  const __half2 pair = __halves2half2(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}

/// Adds tokens that are on no page both, `begin` to `end` of an item, 16 at a time, in f16 with sums in f32. `scratch`: room for
/// 16 rows of each tensor, when there may be packed ones among them.
template <PageLayout K, PageLayout V, int WARPS>
__device__ __forceinline__ void meetRest(Seen<V>& seen, const Queries<K>& queries, const DecodeJob& job, const RestEntry* table, int begin,
                                         int end, int head, int warp, int lane, __half* keyScratch, __half* valueScratch) {
  const int g = lane / 4, t = lane % 4;
#pragma unroll 1
  // The last warps have fewer pages where those do not divide.
  for (int first = begin + 16 * (WARPS - 1 - warp); first < end; first += 16 * WARPS) {
    const auto entryOf = [&](int token) { return table[min(first + token, end - 1)]; };
    const RestRows<K> keys = {keyScratch};
    const RestRows<V> values = {valueScratch};
    if (keyScratch != nullptr) {
      __syncwarp();
      const RestEntry own = entryOf(lane % 16);
      keys.decode(job, own.key, head, lane);
      values.decode(job, own.value, head, lane);
      __syncwarp();
    }
    const RestEntry upper = entryOf(g), lower = entryOf(g + 8);
    const __half* rows[2] = {keys.of(job, upper.key, g, head), keys.of(job, lower.key, g + 8, head)};
    float sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int half = 0; half < K.halves(); half++) {
      const uint2 high = *reinterpret_cast<const uint2*>(rows[0] + 16 * half + 4 * t);
      const uint2 low = *reinterpret_cast<const uint2*>(rows[1] + 16 * half + 4 * t);
      const uint32_t a[4] = {high.x, low.x, high.y, low.y};
      multiplyHalves(sums, a, queries.parts[half][0], queries.parts[half][1]);
    }
    float logits[2] = {sums[0] + sums[1], sums[2] + sums[3]};
    if (job.softCap > 0.0f) capLogits(logits, job.softCap);
    if (first + g >= end) logits[0] = -INFINITY;
    if (first + g + 8 >= end) logits[1] = -INFINITY;
    const float largest = maxOfRows(fmaxf(logits[0], logits[1]));
    if (largest == -INFINITY) continue;
    const float raised = fmaxf(seen.largest, largest);
    const float kept = exp2Fast(seen.largest - raised);
    seen.largest = raised;
    const float weights[2] = {exp2Fast(logits[0] - raised), exp2Fast(logits[1] - raised)};
    seen.sum = fmaf(seen.sum, kept, weights[0] + weights[1]);
#pragma unroll
    for (float& zeros : seen.zeros) zeros *= kept;
    uint32_t b[2];
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const __half high = __float2half_rn(weights[i]);
      b[i] = transposed(pairOf(high, __float2half_rn(weights[i] - __half2float(high))));
    }
    const __half* columns[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const int token = 2 * t + i % 2 + i / 2 * 8;
      columns[i] = values.of(job, entryOf(token).value, token, head) + g;
    }
#pragma unroll
    for (int tile = 0; tile < V.headDim / 16; tile++) {
      uint32_t a[4];
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const int channel = 16 * tile + 8 * (i % 2);
        a[i] = pairOf(columns[i / 2 * 2][channel], columns[i / 2 * 2 + 1][channel]);
      }
      float out[4] = {0.0f, 0.0f, 0.0f, 0.0f};
      multiplyHalves(out, a, b[0], b[1]);
      seen.output[2 * tile] = fmaf(seen.output[2 * tile], kept, out[0] + out[1]);
      seen.output[2 * tile + 1] = fmaf(seen.output[2 * tile + 1], kept, out[2] + out[3]);
    }
  }
}

}  // namespace lowbit
