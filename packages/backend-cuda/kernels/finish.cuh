// What the warps of a block have seen becomes one, and what blocks of a query have seen.
#pragma once
#include "join.cuh"
#include "overlap.cuh"
#include "rest.cuh"

namespace lowbit {

/// Joins the warps of a block, and the items of a query in the block that comes last. `shared`: WARP_BYTES of each warp, which nothing
/// is on its way to. `channelOf`: of a place of a lane's sums.
template <int WARP_BYTES, int WARPS, PageLayout K, PageLayout V, int TILES, class ChannelOf>
__device__ __forceinline__ void finish(Columns<K, V> (&tiles)[TILES], uint8_t* shared, const DecodeJob& job, int head, int firstHead, int heads,
                                       ChannelOf channelOf) {
  constexpr int DIM = V.headDim, HEADS = 4 * TILES;
  /// Items whose results are on their way together.
  constexpr int JOINED = 16;
  /// Floats of the partial result of a query head: outputs, maximum, sum.
  constexpr int PARTIAL = DIM + 2;
  /// Floats from query head to query head of what a warp leaves: lanes of a store lie in different banks.
  constexpr int LEFT_STRIDE = DIM + 8;
  /// Floats from warp to warp.
  constexpr int WARP_STRIDE = WARP_BYTES / 4;
  static_assert(HEADS * (LEFT_STRIDE + 2) * 4 <= WARP_BYTES, "what a warp has seen fits where its pages were");
  const int lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
  // Again: nothing of it is kept while pages are met.
  const int sequence = __ldcg(&job.itemTable[blockIdx.x].sequence);
  const int split = __ldcg(&job.itemTable[blockIdx.x].split), splits = __ldcg(&job.itemTable[blockIdx.x].splits);
  // A warp leaves what it has seen where its pages were: [query head][channel], then maxima and sums.
  float* left = reinterpret_cast<float*>(shared);
  const float* largests = left + HEADS * LEFT_STRIDE;
  const float* sums = largests + HEADS;
  __syncwarp();
#pragma unroll
  for (int tile = 0; tile < TILES; tile++) {
    Seen<V>& seen = tiles[tile].seen;
    seen.sum = sumOfRows(seen.sum);
#pragma unroll
    for (float& zeros : seen.zeros) zeros = sumOfRows(zeros);
    float* own = left + warp * WARP_STRIDE;
    const int query = 4 * tile + lane % 4;
#pragma unroll
    for (int i = 0; i < DIM / 8; i++)
      own[query * LEFT_STRIDE + channelOf(i, lane)] = seen.output[i] + seen.zeros[V.along == Along::CHANNELS ? 8 * i / V.groupSize : 0];
    own += HEADS * LEFT_STRIDE;
    if (lane < 4) own[query] = seen.largest, own[HEADS + query] = seen.sum;
  }
  __syncthreads();

  const int rowNow = sequence * job.kvHeads + head, firstRowNow = rowNow * job.queryHeads + firstHead;
  float* output = job.output + static_cast<size_t>(firstRowNow) * DIM;
  float* logSumExp = job.logSumExp == nullptr ? nullptr : job.logSumExp + firstRowNow;
  const size_t partialStride = static_cast<size_t>(job.kvHeads) * job.queryHeads * PARTIAL;
  float* partial = job.partials + blockIdx.x * partialStride + (head * job.queryHeads + firstHead) * PARTIAL;
  for (int i = threadIdx.x; i < heads * DIM / 2; i += blockDim.x) {
    const int query = 2 * i / DIM, channel = 2 * i % DIM;
    const Joined joined = join<WARPS>(largests + query, sums + query, WARP_STRIDE, [&](int w) {
      return *reinterpret_cast<const float2*>(left + w * WARP_STRIDE + query * LEFT_STRIDE + channel);
    });
    if (splits == 1) {
      reinterpret_cast<float2*>(output)[i] = joined.normalized();
      if (logSumExp != nullptr && channel == 0) logSumExp[query] = joined.logSumExp();
    } else {
      reinterpret_cast<float2*>(partial)[i] = joined.output;
      if (channel == 0) {
        partial[heads * DIM + query] = joined.largest;
        partial[heads * (DIM + 1) + query] = joined.sum;
      }
    }
  }
  if (splits == 1) return;

  __syncthreads();
  bool isLast = false;
  if (threadIdx.x == 0) {
    const unsigned last = static_cast<unsigned>(splits) - 1u;
    isLast = countOne(job.arrivals + rowNow * gridDim.z + blockIdx.z, last) == last;
  }
  if (!__syncthreads_or(isLast)) return;
  const float* first = partial - split * partialStride;
  const int pairs = heads * DIM / 2;
  // Outputs are on their way while warps find out, a query head each, what those of each item count.
  int pair = threadIdx.x;
  const auto outputsOf = [&] {
    return ItemOutputs<JOINED>(reinterpret_cast<const float2*>(first) + pair, partialStride / 2, pair < pairs ? splits : 0);
  };
  ItemOutputs<JOINED> outputs = outputsOf();
  float* shares = reinterpret_cast<float*>(shared);  // [query head][split]
#pragma unroll 1
  for (int query = warp; query < heads; query += WARPS) {
    const float* largestOf = first + heads * DIM + query;
    const float sum = shareOut(shares + query * splits, splits, lane, [&](int split) {
      const float* largest = largestOf + split * partialStride;
      return make_float2(__ldcg(largest), __ldcg(largest + heads));
    });
    if (logSumExp != nullptr && lane == 0) logSumExp[query] = sum;
  }
  __syncthreads();
#pragma unroll 1
  while (pair < pairs) {
    reinterpret_cast<float2*>(output)[pair] = outputs.sum(shares + 2 * pair / DIM * splits);
    pair += blockDim.x;
    outputs = outputsOf();
  }
}

}  // namespace lowbit
