// What warps, and CTAs, have seen of a head becomes one.
#pragma once
#include "codes.cuh"

namespace lowbit {

/// Two channels of what several have seen of one query head.
struct Joined {
  float largest;
  float sum;
  float2 output;

  __device__ __forceinline__ float2 normalized() const {
    const float inverse = sum > 0.0f ? 1.0f / sum : 0.0f;
    return make_float2(output.x * inverse, output.y * inverse);
  }

  __device__ __forceinline__ float logSumExp() const {
    return sum > 0.0f ? (largest + log2f(sum)) * 0.69314718f : -INFINITY;
  }
};

/// What COUNT warps have seen; `load` gives the outputs of one.
template <int COUNT, class Load>
__device__ __forceinline__ Joined join(const float* largests, const float* sums, int stride, Load load) {
  Joined joined = {-INFINITY, 0.0f, make_float2(0.0f, 0.0f)};
#pragma unroll
  for (int i = 0; i < COUNT; i++) joined.largest = fmaxf(joined.largest, largests[i * stride]);
  if (joined.largest == -INFINITY) return joined;
#pragma unroll
  for (int i = 0; i < COUNT; i++) {
    const float2 outputs = load(i);
    const float share = exp2Fast(largests[i * stride] - joined.largest);
    joined.sum = fmaf(sums[i * stride], share, joined.sum);
    joined.output.x = fmaf(outputs.x, share, joined.output.x);
    joined.output.y = fmaf(outputs.y, share, joined.output.y);
  }
  return joined;
}

/// What outputs of `count` items of a query head are multiplied with, so that their sum is the result; `load` gives maximum and sum of
/// one. Gives the natural log-sum-exp. All lanes of a warp call.
template <class Load>
__device__ __forceinline__ float shareOut(float* shares, int count, int lane, Load load) {
  float largest = -INFINITY, sum = 0.0f;
#pragma unroll 1
  for (int first = 0; first < count; first += LANES) {
    const float2 own = first + lane < count ? load(first + lane) : make_float2(-INFINITY, 0.0f);
    const float raised = fmaxf(largest, maxOfLanes(own.x));
    // Nothing was seen so far: whatever is multiplied with 0.
    const float base = raised == -INFINITY ? 0.0f : raised;
    sum = fmaf(sum, exp2Fast(largest - base), sumOfLanes(own.y * exp2Fast(own.x - base)));
    largest = raised;
    if (first + lane < count) shares[first + lane] = own.x;
  }
  const float base = largest == -INFINITY ? 0.0f : largest;
  const float inverse = sum > 0.0f ? 1.0f / sum : 0.0f;
#pragma unroll 1
  for (int i = lane; i < count; i += LANES) shares[i] = exp2Fast(shares[i] - base) * inverse;
  return sum > 0.0f ? (largest + log2f(sum)) * 0.69314718f : -INFINITY;
}

/// Outputs of items, those of BATCH of them on their way together.
template <int BATCH>
struct ItemOutputs {
  const float2* next;
  /// From item to item.
  size_t stride;
  int left;
  float2 outputs[BATCH];

  __device__ __forceinline__ ItemOutputs(const float2* first, size_t stride, int count) : next(first), stride(stride), left(count) { fetch(); }

  /// Of outputs times shares.
  __device__ __forceinline__ float2 sum(const float* shares) {
    float2 sum = make_float2(0.0f, 0.0f);
#pragma unroll 1
    for (;;) {
#pragma unroll
      for (int i = 0; i < BATCH; i++) {
        if (i >= left) continue;
        sum.x = fmaf(outputs[i].x, shares[i], sum.x);
        sum.y = fmaf(outputs[i].y, shares[i], sum.y);
      }
      left -= BATCH, shares += BATCH;
      if (left <= 0) return sum;
      fetch();
    }
  }

 private:
  __device__ __forceinline__ void fetch() {
#pragma unroll
    for (int i = 0; i < BATCH; i++, next += stride)
      if (i < left) outputs[i] = __ldcg(next);
  }
};

}  // namespace lowbit
