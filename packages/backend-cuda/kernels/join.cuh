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

/// `load` gives outputs; BATCH of them are on their way together.
template <int BATCH, class Load>
__device__ __forceinline__ Joined join(const float* largests, const float* sums, int stride, int count, Load load) {
  Joined joined = {-INFINITY, 0.0f, make_float2(0.0f, 0.0f)};
  for (int i = 0; i < count; i++) joined.largest = fmaxf(joined.largest, largests[i * stride]);
  if (joined.largest == -INFINITY) return joined;
  for (int start = 0; start < count; start += BATCH) {
    float2 outputs[BATCH];
#pragma unroll
    for (int i = 0; i < BATCH; i++)
      if (start + i < count) outputs[i] = load(start + i);
#pragma unroll
    for (int i = 0; i < BATCH; i++) {
      if (start + i >= count) continue;
      const float share = exp2Fast(largests[(start + i) * stride] - joined.largest);
      joined.sum = fmaf(sums[(start + i) * stride], share, joined.sum);
      joined.output.x = fmaf(outputs[i].x, share, joined.output.x);
      joined.output.y = fmaf(outputs[i].y, share, joined.output.y);
    }
  }
  return joined;
}

}  // namespace lowbit
