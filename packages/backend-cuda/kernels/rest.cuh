// Tokens that are on no page: windows, new tokens, and tokens that one tensor has packed and the other has not.
#pragma once
#include "job.cuh"
#include "queries.cuh"
#include "values.cuh"

namespace lowbit {

/// cap * tanh(logit / cap).
template <int N>
__device__ __forceinline__ void capLogits(float (&logits)[N], float cap) {
#pragma unroll
  for (int i = 0; i < N; i++) logits[i] = cap * tanhf(logits[i] / cap);
}

/// Where a row of one head lies: as f16, or as a slot of a packed page.
struct Row {
  const __half* halves;
  const uint8_t* piece;
  int slot;
};

template <PageLayout L>
__device__ __forceinline__ Row rowOf(const DecodeJob& job, unsigned place, int head) {
  const unsigned source = place >> 30, row = place & 0x3fffffffu;
  constexpr bool IS_KEY = L.tensor == Tensor::KEY;
  if (source == 0) {
    const size_t page = row / PAGE_TOKENS;
    return {nullptr, (IS_KEY ? job.keys : job.values) + (page * job.kvHeads + head) * L.bytes(), static_cast<int>(row % PAGE_TOKENS)};
  }
  if (source == 1) {
    const size_t page = row / job.windowTokens, slot = row % job.windowTokens;
    const size_t first = (page * job.kvHeads + head) * job.windowTokens + slot;
    return {(IS_KEY ? job.keyWindows : job.valueWindows) + first * L.headDim, nullptr, 0};
  }
  return {(IS_KEY ? job.keyInput : job.valueInput) + (static_cast<size_t>(row) * job.kvHeads + head) * L.headDim, nullptr, 0};
}

template <PageLayout L>
__device__ __forceinline__ __half elementOf(const Row& row, int channel) {
  if (row.halves != nullptr) return row.halves[channel];
  const int bit = L.codeBit(row.slot, channel);
  const int code = row.piece[bit / 8] >> (bit % 8) & ((1 << L.bits) - 1);
  const int group = (L.along == Along::TOKENS ? row.slot : channel) / L.groupSize;
  const int entry = L.parameterPlace(group, L.along == Along::TOKENS ? channel : row.slot);
  const float scale = __half2float(reinterpret_cast<const __half*>(row.piece + L.scaleByte())[entry]);
  const float zero =
      L.hasZero ? __half2float(reinterpret_cast<const __half*>(row.piece + L.zeroByte())[entry]) : -scale * (1 << (L.bits - 1));
  return __float2half_rn(fmaf(static_cast<float>(code), scale, zero));
}

__device__ __forceinline__ uint32_t pairOf(__half low, __half high) {
  const __half2 pair = __halves2half2(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}

/// Adds tokens that are on no page, 16 at a time, in f16 with sums in f32.
template <PageLayout K, PageLayout V, int WARPS>
__device__ __forceinline__ void meetRest(Seen<V>& seen, const Queries<K>& queries, const DecodeJob& job, const Item& item, int head,
                                         int oldest, int warp, int lane) {
  const int g = lane / 4, t = lane % 4;
  const RestEntry* table = job.restTable + item.firstRest;
#pragma unroll 1
  for (int first = 16 * warp; first < item.rests; first += 16 * WARPS) {
    const auto entryOf = [&](int token) { return table[min(first + token, item.rests - 1)]; };
    const RestEntry upper = entryOf(g), lower = entryOf(g + 8);
    const Row keys[2] = {rowOf<K>(job, upper.key, head), rowOf<K>(job, lower.key, head)};
    float sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int half = 0; half < K.halves(); half++) {
      uint32_t a[4];
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const int channel = 16 * half + 4 * t + i / 2 * 2;
        a[i] = pairOf(elementOf<K>(keys[i % 2], channel), elementOf<K>(keys[i % 2], channel + 1));
      }
      multiplyHalves(sums, a, queries.parts[half][0], queries.parts[half][1]);
    }
    float logits[2] = {sums[0] + sums[1], sums[2] + sums[3]};
    if (job.softCap > 0.0f) capLogits(logits, job.softCap);
    if (first + g >= item.rests || upper.position <= oldest) logits[0] = -INFINITY;
    if (first + g + 8 >= item.rests || lower.position <= oldest) logits[1] = -INFINITY;
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
    Row values[4];
#pragma unroll
    for (int i = 0; i < 4; i++) values[i] = rowOf<V>(job, entryOf(2 * t + i % 2 + i / 2 * 8).value, head);
#pragma unroll
    for (int tile = 0; tile < V.headDim / 16; tile++) {
      uint32_t a[4];
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const int channel = 16 * tile + 8 * (i % 2) + g;
        a[i] = pairOf(elementOf<V>(values[i / 2 * 2], channel), elementOf<V>(values[i / 2 * 2 + 1], channel));
      }
      float out[4] = {0.0f, 0.0f, 0.0f, 0.0f};
      multiplyHalves(out, a, b[0], b[1]);
      seen.output[2 * tile] = fmaf(seen.output[2 * tile], kept, out[0] + out[1]);
      seen.output[2 * tile + 1] = fmaf(seen.output[2 * tile + 1], kept, out[2] + out[3]);
    }
  }
}

}  // namespace lowbit
