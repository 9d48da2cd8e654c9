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
#include "overlap.cuh"
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
  /// Items whose results are on their way together.
  static constexpr int JOINED = 16;
  /// Floats of the partial result of a query head: outputs, maximum, sum.
  static constexpr int PARTIAL = DIM + 2;
  static constexpr int SHARED_BYTES = WARPS * (Slots::BYTES + Slots::BARRIER_BYTES);
  static_assert(K.bytes() >= 32 * K.headDim && V.bytes() >= 32 * V.headDim, "16 rows fit where a page comes to");
  /// Floats from query head to query head of what a warp leaves: lanes of a store lie in different banks.
  static constexpr int LEFT_STRIDE = DIM + 8;
  /// Floats from warp to warp.
  static constexpr int WARP_STRIDE = Slots::BYTES / 4;
  static_assert(HEADS * (LEFT_STRIDE + 2) * 4 <= Slots::BYTES, "what a warp has seen fits where its pages were");
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
  letNextKernelStart();
  // Both are on their way at once: the table has room for all of the grid. Tables are written by copies, which no kernel overlaps.
  const Item item = job.itemTable[blockIdx.x];
  if (static_cast<int>(blockIdx.x) >= __ldg(job.items)) return awaitPreviousKernel();

  typename D::Slots ring(shared, warp, WARPS, lane);
  HeldEntries entries = {job.pageTable + item.firstPage, warp, item.pages, WARPS, {}};
  const int turns = (item.pages - warp + WARPS - 1) / WARPS;
  const auto keyPiece = [&](int turn) { return job.keys + (static_cast<size_t>(entries.key(turn)) * job.kvHeads + head) * K.bytes(); };
  const auto valuePiece = [&](int turn) { return job.values + (static_cast<size_t>(entries.value(turn)) * job.kvHeads + head) * V.bytes(); };
  const auto fetchKey = [&](int turn) {
    if (turn >= turns) return ring.skip();
    ring.fetchKey(keyPiece(turn), lane);
  };
  const auto fetchValue = [&](int turn) {
    if (turn >= turns) return ring.skip();
    ring.fetchValue(valuePiece(turn), lane);
  };
  entries.hold(0, lane);
  Rest<K, V, TILES, WARPS> rest(job.restTable + item.firstRest, item.rests, warp, lane);
  const int row = item.sequence * job.kvHeads + head;
  // Of the kv head's query heads those of this CTA.
  const int firstHead = blockIdx.z * D::HEADS;
  const int heads = min(D::HEADS, job.queryHeads - firstHead);
  const int firstRow = row * job.queryHeads + firstHead;
  const __half* reciprocals = nullptr;
  if (K.along == Along::CHANNELS && item.keyStatistics >= 0 && job.keyStatistics != nullptr)
    reciprocals = job.keyStatistics + (static_cast<size_t>(item.keyStatistics) * job.kvHeads + head) * K.headDim;
  if (turns > 0) ring.announce(keyPiece(0), valuePiece(0), lane);
  rest.announce(job, head, lane);
  awaitPreviousKernel();

  // Rows of the rest come to where pages do, so they go first.
  rest.place(ring.key, ring.value, reciprocals);
  if (!rest.isOver()) rest.fetch(job, head, lane);
  else fetchKey(0), fetchValue(0);
  Columns<K, V> tiles[TILES];
#pragma unroll
  for (int tile = 0; tile < TILES; tile++) {
    tiles[tile].seen.clear();
    // Columns that there is no head for get another one's queries; what they see is not read.
    const int number = min(4 * tile + lane / 8, heads - 1);
    tiles[tile].queries.load(job.queries, job.queryType, static_cast<size_t>(firstRow + number) * K.headDim, reciprocals, job.scale, lane);
  }
  if (!rest.isOver()) {
    rest.meet(tiles, job, head, lane);
    ring.giveBack();
    fetchKey(0), fetchValue(0);
  }
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

  // Again: nothing of it is kept while pages are met.
  const int sequence = __ldcg(&job.itemTable[blockIdx.x].sequence);
  const int split = __ldcg(&job.itemTable[blockIdx.x].split), splits = __ldcg(&job.itemTable[blockIdx.x].splits);
  // A warp leaves what it has seen where its pages were: [query head][channel], then maxima and sums.
  float* left = reinterpret_cast<float*>(shared);
  const float* largests = left + D::HEADS * D::LEFT_STRIDE;
  const float* sums = largests + D::HEADS;
  __syncwarp();
#pragma unroll
  for (int tile = 0; tile < TILES; tile++) {
    Seen<V>& seen = tiles[tile].seen;
    seen.sum = sumOfRows(seen.sum);
#pragma unroll
    for (float& zeros : seen.zeros) zeros = sumOfRows(zeros);
    float* own = left + warp * D::WARP_STRIDE;
    const int query = 4 * tile + lane % 4;
#pragma unroll
    for (int i = 0; i < D::CHANNEL_ROWS; i++)
      own[query * D::LEFT_STRIDE + 8 * i + lane / 4] = seen.output[i] + seen.zeros[V.along == Along::CHANNELS ? 8 * i / V.groupSize : 0];
    own += D::HEADS * D::LEFT_STRIDE;
    if (lane < 4) own[query] = seen.largest, own[D::HEADS + query] = seen.sum;
  }
  __syncthreads();

  const int rowNow = sequence * job.kvHeads + head, firstRowNow = rowNow * job.queryHeads + firstHead;
  float* output = job.output + static_cast<size_t>(firstRowNow) * D::DIM;
  float* logSumExp = job.logSumExp == nullptr ? nullptr : job.logSumExp + firstRowNow;
  const size_t partialStride = static_cast<size_t>(job.kvHeads) * job.queryHeads * D::PARTIAL;
  float* partial = job.partials + blockIdx.x * partialStride + (head * job.queryHeads + firstHead) * D::PARTIAL;
  for (int i = threadIdx.x; i < heads * D::DIM / 2; i += blockDim.x) {
    const int query = 2 * i / D::DIM, channel = 2 * i % D::DIM;
    const Joined joined = join<WARPS>(largests + query, sums + query, D::WARP_STRIDE, [&](int w) {
      return *reinterpret_cast<const float2*>(left + w * D::WARP_STRIDE + query * D::LEFT_STRIDE + channel);
    });
    if (splits == 1) {
      reinterpret_cast<float2*>(output)[i] = joined.normalized();
      if (logSumExp != nullptr && channel == 0) logSumExp[query] = joined.logSumExp();
    } else {
      reinterpret_cast<float2*>(partial)[i] = joined.output;
      if (channel == 0) {
        partial[heads * D::DIM + query] = joined.largest;
        partial[heads * (D::DIM + 1) + query] = joined.sum;
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
  const int pairs = heads * D::DIM / 2;
  // Outputs are on their way while warps find out, a query head each, what those of each item count.
  int pair = threadIdx.x;
  const auto outputsOf = [&] {
    return ItemOutputs<D::JOINED>(reinterpret_cast<const float2*>(first) + pair, partialStride / 2, pair < pairs ? splits : 0);
  };
  ItemOutputs<D::JOINED> outputs = outputsOf();
  float* shares = reinterpret_cast<float*>(shared);  // [query head][split]
#pragma unroll 1
  for (int query = warp; query < heads; query += WARPS) {
    const float* largestOf = first + heads * D::DIM + query;
    const float sum = shareOut(shares + query * splits, splits, lane, [&](int split) {
      const float* largest = largestOf + split * partialStride;
      return make_float2(__ldcg(largest), __ldcg(largest + heads));
    });
    if (logSumExp != nullptr && lane == 0) logSumExp[query] = sum;
  }
  __syncthreads();
#pragma unroll 1
  while (pair < pairs) {
    reinterpret_cast<float2*>(output)[pair] = outputs.sum(shares + 2 * pair / D::DIM * splits);
    pair += blockDim.x;
    outputs = outputsOf();
  }
}

}  // namespace lowbit
