// Attention of one query token over packed pages: a warp owns pages of one kv head, and holds what it has seen of them in
// registers; warps of a CTA meet once, CTAs of a head meet in the last of them.
//
// Nothing is dequantized. Codes are masked into the A operand of integer tensor cores (layout.cuh). Queries, with the scales
// of keys folded in, are 16-bit integers whose high and low bytes are two columns of B; so are weights, with the scales of
// values folded in. Sums start at a power of two that makes their bits a float.
#pragma once
#include <type_traits>

#include "job.cuh"
#include "join.cuh"
#include "keys.cuh"
#include "rest.cuh"
#include "ring.cuh"
#include "values.cuh"

namespace lowbit {

/// Numbers of a kernel that follow from its plan.
template <PageLayout K, PageLayout V, int GROUP, int WARPS>
struct Decode {
  static_assert(K.tensor == Tensor::KEY && V.tensor == Tensor::VALUE);
  static_assert(GROUP >= 1 && GROUP <= 4, "four query heads fill the columns");
  using Slots = Ring<K.bytes(), V.bytes()>;
  static constexpr int DIM = V.headDim;
  static constexpr int TOKEN_ROWS = PAGE_TOKENS / 8;
  static constexpr int CHANNEL_ROWS = DIM / 8;
  /// Floats of a partial result.
  static constexpr int PARTIAL = GROUP * DIM + 2 * GROUP;
  static constexpr int SHARED_BYTES = WARPS * (Slots::BYTES + Slots::BARRIER_BYTES);
  static_assert(K.bytes() >= 32 * K.headDim && V.bytes() >= 32 * V.headDim, "16 rows fit where a page comes to");
  static_assert(WARPS * PARTIAL * 4 <= WARPS * Slots::BYTES, "what warps have seen fits where their pages were");
};

/// Entries of the pages of a warp, 32 of them at a time in its lanes.
struct HeldEntries {
  const PageEntry* table;
  int begin, end, stride;
  int4 held;

  /// Those of turns from a multiple of 32 on.
  __device__ __forceinline__ void hold(int turn, int lane) {
    const int page = begin + (turn + lane) * stride;
    held = page < end ? __ldg(reinterpret_cast<const int4*>(table) + page) : make_int4(0, 0, 0, 0);
  }

  __device__ __forceinline__ int key(int turn) const { return __shfl_sync(ALL, held.x, turn % LANES); }
  __device__ __forceinline__ int value(int turn) const { return __shfl_sync(ALL, held.y, turn % LANES); }
  __device__ __forceinline__ int slots(int turn) const { return __shfl_sync(ALL, held.w, turn % LANES); }
};

/// The body of a kernel. Grid: (items, kv heads); 32 WARPS threads; SHARED_BYTES of dynamic shared memory.
template <PageLayout K, PageLayout V, int GROUP, int WARPS>
__device__ __forceinline__ void decode(const DecodeJob& job) {
  using D = Decode<K, V, GROUP, WARPS>;
  extern __shared__ __align__(128) uint8_t shared[];
  const int lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
  const int head = blockIdx.y;
  // Both are on their way at once: the table has room for all of the grid.
  const Item item = job.itemTable[blockIdx.x];
  if (static_cast<int>(blockIdx.x) >= __ldg(job.items)) return;

  typename D::Slots ring(shared, warp, WARPS, lane);
  HeldEntries entries = {job.pageTable + item.firstPage, warp, item.pages, WARPS, {}};
  const int turns = (item.pages - warp + WARPS - 1) / WARPS;
  const auto fetchKey = [&](int turn) {
    if (turn >= turns) return ring.skip();
    ring.fetchKey(job.keys + (static_cast<size_t>(entries.key(turn)) * job.kvHeads + head) * K.bytes(), lane);
  };
  const auto fetchValue = [&](int turn) {
    if (turn >= turns) return ring.skip();
    ring.fetchValue(job.values + (static_cast<size_t>(entries.value(turn)) * job.kvHeads + head) * V.bytes(), lane);
  };
  entries.hold(0, lane);
  const size_t row = static_cast<size_t>(item.sequence) * job.kvHeads + head;
  const int prepared = lane / 8;
  Queries<K> queries;
  Seen<V> seen;
  seen.clear();
  const RestEntry* rests = job.restTable + item.firstRest;
  const auto loadQueries = [&] {
    queries.load(job.queries, job.queryType, (row * GROUP + prepared) * K.headDim, job.scale, lane, prepared < GROUP);
  };
  if (item.packedRests > 0) {
    // Rare: decoded where pages come to.
    loadQueries();
    meetRest<K, V, WARPS>(seen, queries, job, rests, 0, item.packedRests, head, warp, lane, reinterpret_cast<__half*>(ring.key),
                          reinterpret_cast<__half*>(ring.value));
    ring.giveBack();
  }
  fetchKey(0);
  fetchValue(0);
  loadQueries();
  meetRest<K, V, WARPS>(seen, queries, job, rests, item.packedRests, item.rests, head, warp, lane, nullptr, nullptr);
  using Keys = std::conditional_t<K.along == Along::TOKENS, FoldedKeys<K>, GroupedKeys<K>>;
  Keys keys(queries, lane);
  int slots = entries.slots(0);
  for (int turn = 0; turn < turns; turn++) {
    float logits[D::TOKEN_ROWS];
    ring.awaitKey(turn);
    keys.meet(logits, ring.key, lane);
    __syncwarp();
    fetchKey(turn + 1);
    if (job.softCap > 0.0f) capLogits(logits, job.softCap);
    if (slots != PAGE_TOKENS << 16) {
      const int first = slots & 0xffff, count = slots >> 16;
#pragma unroll
      for (int i = 0; i < D::TOKEN_ROWS; i++) {
        const int number = 8 * i + lane / 4 - first;
        if (number < 0 || number >= count) logits[i] = -INFINITY;
      }
    }
    ring.awaitValue(turn);
    if constexpr (V.along == Along::TOKENS) meetGroupedValues<V>(seen, logits, ring.value, lane);
    else meetFoldedValues<V>(seen, logits, ring.value, lane);
    __syncwarp();
    fetchValue(turn + 1);
    slots = entries.slots(turn + 1);
    if (turn % LANES == LANES - 2) entries.hold(turn + 2, lane);
  }

  seen.sum = sumOfRows(seen.sum);
#pragma unroll
  for (float& zeros : seen.zeros) zeros = sumOfRows(zeros);
  __syncthreads();
  float* outputs = reinterpret_cast<float*>(shared);             // [warp][query head][channel]
  float* largests = outputs + WARPS * GROUP * D::DIM;         // [warp][query head]
  float* sums = largests + WARPS * GROUP;
  const int mine = lane % 4;
  if (mine < GROUP) {
#pragma unroll
    for (int i = 0; i < D::CHANNEL_ROWS; i++) {
      const int channel = 8 * i + lane / 4;
      outputs[(warp * GROUP + mine) * D::DIM + channel] = seen.output[i] + seen.zeros[V.along == Along::CHANNELS ? 8 * i / V.groupSize : 0];
    }
    if (lane < 4) largests[warp * GROUP + mine] = seen.largest, sums[warp * GROUP + mine] = seen.sum;
  }
  __syncthreads();

  const int splits = item.splits;
  float* output = job.output + row * GROUP * D::DIM;
  float* logSumExp = job.logSumExp == nullptr ? nullptr : job.logSumExp + row * GROUP;
  const size_t partialStride = static_cast<size_t>(job.kvHeads) * D::PARTIAL;
  float* partial = job.partials + blockIdx.x * partialStride + head * D::PARTIAL;
  for (int i = threadIdx.x; i < GROUP * D::DIM / 2; i += blockDim.x) {
    const int query = 2 * i / D::DIM;
    const Joined joined = join<WARPS>(largests + query, sums + query, GROUP, WARPS, [&](int w) {
      return reinterpret_cast<const float2*>(outputs)[w * (GROUP * D::DIM / 2) + i];
    });
    if (splits == 1) {
      reinterpret_cast<float2*>(output)[i] = joined.normalized();
      if (logSumExp != nullptr && 2 * i % D::DIM == 0) logSumExp[query] = joined.logSumExp();
    } else {
      reinterpret_cast<float2*>(partial)[i] = joined.output;
      if (2 * i % D::DIM == 0) {
        partial[GROUP * D::DIM + query] = joined.largest;
        partial[GROUP * D::DIM + GROUP + query] = joined.sum;
      }
    }
  }
  if (splits == 1) return;

  __shared__ bool isLast;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    isLast = atomicAdd(job.arrivals + row, 1u) == static_cast<unsigned>(splits) - 1u;
    if (isLast) job.arrivals[row] = 0u;
    __threadfence();
  }
  __syncthreads();
  if (!isLast) return;
  const float* first = partial - item.split * partialStride;
  float* heads = reinterpret_cast<float*>(shared);  // [split][maxima, then sums][query head]
  for (int i = threadIdx.x; i < splits * 2 * GROUP; i += blockDim.x)
    heads[i] = __ldcg(first + i / (2 * GROUP) * partialStride + GROUP * D::DIM + i % (2 * GROUP));
  __syncthreads();
  for (int i = threadIdx.x; i < GROUP * D::DIM / 2; i += blockDim.x) {
    const int query = 2 * i / D::DIM;
    const Joined joined = join<8>(heads + query, heads + GROUP + query, 2 * GROUP, splits, [&](int s) {
      return __ldcg(reinterpret_cast<const float2*>(first + s * partialStride) + i);
    });
    reinterpret_cast<float2*>(output)[i] = joined.normalized();
    if (logSumExp != nullptr && 2 * i % D::DIM == 0) logSumExp[query] = joined.logSumExp();
  }
}

}  // namespace lowbit
