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

/// Outputs of some that are on their way together.
template <int BATCH>
struct JoinBatch {
  float2 outputs[BATCH];

  /// Those from `start` on, of `count` in all.
  template <class Load>
  __device__ __forceinline__ void fetch(int start, int count, Load load) {
#pragma unroll
    for (int i = 0; i < BATCH; i++)
      if (start + i < count) outputs[i] = load(start + i);
  }
};

/// `batch`: the first ones, already fetched; `load` gives the outputs of one.
template <int BATCH, class Load>
__device__ __forceinline__ Joined join(const float* largests, const float* sums, int stride, int count, JoinBatch<BATCH>& batch, Load load) {
  Joined joined = {-INFINITY, 0.0f, make_float2(0.0f, 0.0f)};
  for (int i = 0; i < count; i++) joined.largest = fmaxf(joined.largest, largests[i * stride]);
  if (joined.largest == -INFINITY) return joined;
  for (int start = 0;;) {
#pragma unroll
    for (int i = 0; i < BATCH; i++) {
      if (start + i >= count) continue;
      const float share = exp2Fast(largests[(start + i) * stride] - joined.largest);
      joined.sum = fmaf(sums[(start + i) * stride], share, joined.sum);
      joined.output.x = fmaf(batch.outputs[i].x, share, joined.output.x);
      joined.output.y = fmaf(batch.outputs[i].y, share, joined.output.y);
    }
    start += BATCH;
    if (start >= count) return joined;
    batch.fetch(start, count, load);
  }
}

}  // namespace lowbit
