// What the warps of a block have seen becomes one, and what blocks of a query have seen.
#pragma once
#include "join.cuh"
#include "rest.cuh"

namespace lowbit {

/// Joins the warps of a block, and the items of a query in the block that comes last. `shared`: of the block, [warp][query head]
/// [channel] floats at least. `channelOf`: of a place of a lane's sums.
template <int DIM, int TILES, int WARPS, PageLayout K, PageLayout V, class ChannelOf>
__device__ __forceinline__ void finish(Columns<K, V> (&tiles)[TILES], uint8_t* shared, const DecodeJob& job, const Item& item, size_t row,
                                       size_t firstRow, int head, int firstHead, int heads, ChannelOf channelOf) {
  constexpr int HEADS = 4 * TILES, PARTIAL = DIM + 2;
  const int lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
  __syncthreads();
  float* outputs = reinterpret_cast<float*>(shared);  // [warp][query head][channel]
  float* largests = outputs + WARPS * HEADS * DIM;    // [warp][query head]
  float* sums = largests + WARPS * HEADS;
#pragma unroll
  for (int tile = 0; tile < TILES; tile++) {
    Seen<V>& seen = tiles[tile].seen;
    seen.sum = sumOfRows(seen.sum);
#pragma unroll
    for (float& zeros : seen.zeros) zeros = sumOfRows(zeros);
    const int mine = warp * HEADS + 4 * tile + lane % 4;
#pragma unroll
    for (int i = 0; i < DIM / 8; i++)
      outputs[mine * DIM + channelOf(i, lane)] = seen.output[i] + seen.zeros[V.along == Along::CHANNELS ? 8 * i / V.groupSize : 0];
    if (lane < 4) largests[mine] = seen.largest, sums[mine] = seen.sum;
  }
  __syncthreads();

  const int splits = item.splits;
  float* output = job.output + firstRow * DIM;
  float* logSumExp = job.logSumExp == nullptr ? nullptr : job.logSumExp + firstRow;
  const size_t partialStride = static_cast<size_t>(job.kvHeads) * job.queryHeads * PARTIAL;
  float* partial = job.partials + blockIdx.x * partialStride + (head * job.queryHeads + firstHead) * PARTIAL;
  for (int i = threadIdx.x; i < heads * DIM / 2; i += blockDim.x) {
    const int query = 2 * i / DIM;
    const Joined joined = join<WARPS>(largests + query, sums + query, HEADS, WARPS,
                                      [&](int w) { return reinterpret_cast<const float2*>(outputs)[w * (HEADS * DIM / 2) + i]; });
    if (splits == 1) {
      reinterpret_cast<float2*>(output)[i] = joined.normalized();
      if (logSumExp != nullptr && 2 * i % DIM == 0) logSumExp[query] = joined.logSumExp();
    } else {
      reinterpret_cast<float2*>(partial)[i] = joined.output;
      if (2 * i % DIM == 0) {
        partial[heads * DIM + query] = joined.largest;
        partial[heads * (DIM + 1) + query] = joined.sum;
      }
    }
  }
  if (splits == 1) return;

  __shared__ bool isLast;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned* arrivals = job.arrivals + row * gridDim.z + blockIdx.z;
    isLast = atomicAdd(arrivals, 1u) == static_cast<unsigned>(splits) - 1u;
    if (isLast) *arrivals = 0u;
    __threadfence();
  }
  __syncthreads();
  if (!isLast) return;
  const float* first = partial - item.split * partialStride;
  float* seenOf = reinterpret_cast<float*>(shared);  // [split][maxima, then sums][query head]
  for (int i = threadIdx.x; i < splits * 2 * HEADS; i += blockDim.x) {
    const int place = i % (2 * HEADS), query = place % HEADS;
    if (query < heads) seenOf[i] = __ldcg(first + i / (2 * HEADS) * partialStride + heads * (DIM + place / HEADS) + query);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < heads * DIM / 2; i += blockDim.x) {
    const int query = 2 * i / DIM;
    const Joined joined = join<8>(seenOf + query, seenOf + HEADS + query, 2 * HEADS, splits,
                                  [&](int s) { return __ldcg(reinterpret_cast<const float2*>(first + s * partialStride) + i); });
    reinterpret_cast<float2*>(output)[i] = joined.normalized();
    if (logSumExp != nullptr && 2 * i % DIM == 0) logSumExp[query] = joined.logSumExp();
  }
}

}  // namespace lowbit
