// Attention of one query token over packed pages: a warp owns pages of one kv head, and holds what it has seen of them in
// registers; warps of a CTA meet once, CTAs of a head meet in the last of them. Query heads that share a kv head are columns, four
// to a tile; a kernel has tiles for four or eight of them, and a grid for any number.
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
template <PageLayout K, PageLayout V, int TILES, int WARPS>
struct Decode {
  static_assert(K.tensor == Tensor::KEY && V.tensor == Tensor::VALUE);
  using Slots = Ring<K.bytes(), V.bytes()>;
  using Keys = std::conditional_t<K.along == Along::TOKENS, FoldedKeys<K>, GroupedKeys<K>>;
  static constexpr int DIM = V.headDim;
  static constexpr int TOKEN_ROWS = PAGE_TOKENS / 8;
  static constexpr int CHANNEL_ROWS = DIM / 8;
  /// Query heads of a CTA at most: four to a tile of columns.
  static constexpr int HEADS = 4 * TILES;
  /// Floats of the partial result of a query head: outputs, maximum, sum.
  static constexpr int PARTIAL = DIM + 2;
  static constexpr int SHARED_BYTES = WARPS * (Slots::BYTES + Slots::BARRIER_BYTES);
  static_assert(K.bytes() >= 32 * K.headDim && V.bytes() >= 32 * V.headDim, "16 rows fit where a page comes to");
  static_assert(HEADS * PARTIAL * 4 <= Slots::BYTES, "what warps have seen fits where their pages were");
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

/// The body of a kernel. Grid: (items, kv heads, HEADS of their query heads); 32 WARPS threads; SHARED_BYTES of dynamic shared
/// memory.
template <PageLayout K, PageLayout V, int TILES, int WARPS>
__device__ __forceinline__ void decode(const DecodeJob& job) {
  using D = Decode<K, V, TILES, WARPS>;
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
  // Of the kv head's query heads those of this CTA.
  const int firstHead = blockIdx.z * D::HEADS;
  const int heads = min(D::HEADS, job.queryHeads - firstHead);
  const size_t firstRow = row * job.queryHeads + firstHead;
  const __half* reciprocals = nullptr;
  if (K.along == Along::CHANNELS && item.keyStatistics >= 0 && job.keyStatistics != nullptr)
    reciprocals = job.keyStatistics + (static_cast<size_t>(item.keyStatistics) * job.kvHeads + head) * K.headDim;
  Columns<K, V> tiles[TILES];
#pragma unroll
  for (Columns<K, V>& tile : tiles) tile.seen.clear();
  const RestEntry* rests = job.restTable + item.firstRest;
  RestEntry early = {};
  if (item.rests > 0) early = rests[min(firstRestOf<WARPS>(warp) + lane % 16, item.rests - 1)];
  const auto loadQueries = [&] {
#pragma unroll
    for (int tile = 0; tile < TILES; tile++) {
      // Columns that there is no head for get another one's queries; what they see is not read.
      const int number = min(4 * tile + lane / 8, heads - 1);
      tiles[tile].queries.load(job.queries, job.queryType, (firstRow + number) * K.headDim, reciprocals, job.scale, lane);
    }
  };
  if (item.packedRests > 0) {
    // Where pages come to.
    loadQueries();
    meetRest<K, V, TILES, WARPS, true>(tiles, job, rests, early, 0, item.packedRests, head, reciprocals, warp, lane,
                                       reinterpret_cast<__half*>(ring.key), reinterpret_cast<__half*>(ring.value));
    ring.giveBack();
  }
  fetchKey(0);
  fetchValue(0);
  loadQueries();
  meetRest<K, V, TILES, WARPS, false>(tiles, job, rests, early, item.packedRests, item.rests, head, nullptr, warp, lane, nullptr, nullptr);
  typename D::Keys keys[TILES];
#pragma unroll
  for (int tile = 0; tile < TILES; tile++) keys[tile].prepare(tiles[tile].queries, lane);
  int slots = entries.slots(0);
  for (int turn = 0; turn < turns; turn++) {
    float logits[TILES][D::TOKEN_ROWS];
    ring.awaitKey(turn);
#pragma unroll
    for (int tile = 0; tile < TILES; tile++) keys[tile].meet(logits[tile], tiles[tile].queries, ring.key, lane);
    __syncwarp();
    fetchKey(turn + 1);
    if (job.softCap > 0.0f) {
#pragma unroll
      for (auto& some : logits) capLogits(some, job.softCap);
    }
    if (slots != PAGE_TOKENS << 16) {
      const int first = slots & 0xffff, count = slots >> 16;
#pragma unroll
      for (int i = 0; i < D::TOKEN_ROWS; i++) {
        const int number = 8 * i + lane / 4 - first;
        if (number < 0 || number >= count) {
#pragma unroll
          for (auto& some : logits) some[i] = -INFINITY;
        }
      }
    }
    ring.awaitValue(turn);
#pragma unroll
    for (int tile = 0; tile < TILES; tile++) {
      if constexpr (V.along == Along::TOKENS) meetGroupedValues<V>(tiles[tile].seen, logits[tile], ring.value, lane);
      else meetFoldedValues<V>(tiles[tile].seen, logits[tile], ring.value, lane);
    }
    __syncwarp();
    fetchValue(turn + 1);
    slots = entries.slots(turn + 1);
    if (turn % LANES == LANES - 2) entries.hold(turn + 2, lane);
  }

  __syncthreads();
  float* outputs = reinterpret_cast<float*>(shared);       // [warp][query head][channel]
  float* largests = outputs + WARPS * D::HEADS * D::DIM;   // [warp][query head]
  float* sums = largests + WARPS * D::HEADS;
#pragma unroll
  for (int tile = 0; tile < TILES; tile++) {
    Seen<V>& seen = tiles[tile].seen;
    seen.sum = sumOfRows(seen.sum);
#pragma unroll
    for (float& zeros : seen.zeros) zeros = sumOfRows(zeros);
    const int mine = warp * D::HEADS + 4 * tile + lane % 4;
#pragma unroll
    for (int i = 0; i < D::CHANNEL_ROWS; i++)
      outputs[mine * D::DIM + 8 * i + lane / 4] = seen.output[i] + seen.zeros[V.along == Along::CHANNELS ? 8 * i / V.groupSize : 0];
    if (lane < 4) largests[mine] = seen.largest, sums[mine] = seen.sum;
  }
  __syncthreads();

  const int splits = item.splits;
  float* output = job.output + firstRow * D::DIM;
  float* logSumExp = job.logSumExp == nullptr ? nullptr : job.logSumExp + firstRow;
  const size_t partialStride = static_cast<size_t>(job.kvHeads) * job.queryHeads * D::PARTIAL;
  float* partial = job.partials + blockIdx.x * partialStride + (head * job.queryHeads + firstHead) * D::PARTIAL;
  for (int i = threadIdx.x; i < heads * D::DIM / 2; i += blockDim.x) {
    const int query = 2 * i / D::DIM;
    const Joined joined = join<WARPS>(largests + query, sums + query, D::HEADS, WARPS, [&](int w) {
      return reinterpret_cast<const float2*>(outputs)[w * (D::HEADS * D::DIM / 2) + i];
    });
    if (splits == 1) {
      reinterpret_cast<float2*>(output)[i] = joined.normalized();
      if (logSumExp != nullptr && 2 * i % D::DIM == 0) logSumExp[query] = joined.logSumExp();
    } else {
      reinterpret_cast<float2*>(partial)[i] = joined.output;
      if (2 * i % D::DIM == 0) {
        partial[heads * D::DIM + query] = joined.largest;
        partial[heads * (D::DIM + 1) + query] = joined.sum;
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
  for (int i = threadIdx.x; i < splits * 2 * D::HEADS; i += blockDim.x) {
    const int place = i % (2 * D::HEADS), query = place % D::HEADS;
    if (query < heads) seenOf[i] = __ldcg(first + i / (2 * D::HEADS) * partialStride + heads * (D::DIM + place / D::HEADS) + query);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < heads * D::DIM / 2; i += blockDim.x) {
    const int query = 2 * i / D::DIM;
    const Joined joined = join<8>(seenOf + query, seenOf + D::HEADS + query, 2 * D::HEADS, splits, [&](int s) {
      return __ldcg(reinterpret_cast<const float2*>(first + s * partialStride) + i);
    });
    reinterpret_cast<float2*>(output)[i] = joined.normalized();
    if (logSumExp != nullptr && 2 * i % D::DIM == 0) logSumExp[query] = joined.logSumExp();
  }
}

}  // namespace lowbit
