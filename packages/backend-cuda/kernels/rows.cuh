// Attention of several query tokens of a sequence over packed pages, which are read once for all of them: a warp owns pages of one kv
// head, as in decode.cuh, and meets them with 16 or 32 rows, the query heads of a few tokens.
//
// Rows are A of f16 tensor cores and codes, as they lie in the page, are B (half-codes.cuh), 32 tokens at a time. Sums of rows by tokens
// are, once they are weights, A of the products with values: nothing changes lanes.
#pragma once
#include "join.cuh"
#include "overlap.cuh"
#include "ring.cuh"
#include "rows-keys.cuh"
#include "rows-rest.cuh"

namespace lowbit {

/// Numbers of a kernel that follow from its plan.
template <PageLayout K, PageLayout V, int TILES, int WARPS>
struct Rows {
  static_assert(K.tensor == Tensor::KEY && V.tensor == Tensor::VALUE && K.headDim == V.headDim);
  static_assert(K.vector() == 4 && K.bits != 3 && V.bits != 3);
  using Slots = Ring<K.bytes(), V.bytes()>;
  using Queries = RowQueries<K.headDim, TILES>;
  using Keys = FoldedRowKeys<K, TILES>;
  static constexpr int DIM = V.headDim;
  /// Rows of a CTA at most.
  static constexpr int ROWS = 16 * TILES;
  /// Floats of the partial result of a row: outputs, maximum, sum.
  static constexpr int PARTIAL = DIM + 2;
  static constexpr int SLOT_BYTES = WARPS * (Slots::BYTES + Slots::BARRIER_BYTES);
  static constexpr int SHARED_BYTES = SLOT_BYTES + WARPS * Keys::WARP_BYTES + Queries::BYTES;
  /// Of what warps have seen of a row. Neighbour rows are in different banks.
  static constexpr int STRIDE = DIM + 8;
  static_assert(K.bytes() >= 32 * K.headDim && V.bytes() >= 32 * V.headDim, "16 tokens fit where a page comes to");
  static_assert(16 * (STRIDE + 2) * 4 <= Slots::BYTES, "what a warp has seen of a tile fits where its pages were");
};

/// Where rows of an item lie: heads of a kv head of one query token, then those of the next one.
struct RowPlaces {
  size_t first, tokenStep;
  int heads;

  __device__ __forceinline__ RowPlaces(const DecodeJob& job, const Item& item, int head)
      : first((static_cast<size_t>(item.sequence) * job.kvHeads + head) * job.queryHeads),
        tokenStep(static_cast<size_t>(job.kvHeads - 1) * job.queryHeads),
        heads(job.queryHeads) {}

  __device__ __forceinline__ size_t of(int row) const { return first + row / heads * tokenStep + row; }
};

/// Joins what warps have seen, and what other items of the same rows have left. Slots are free. `item` is read again, so that nothing of
/// it takes registers before.
template <PageLayout K, PageLayout V, int TILES, int WARPS>
__device__ __forceinline__ void finishRows(const DecodeJob& job, const SeenRows<V> (&seen)[TILES], const Shrink& shrink, uint8_t* shared) {
  using R = Rows<K, V, TILES, WARPS>;
  const int lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
  const int head = blockIdx.y;
  const Item item = job.itemTable[blockIdx.x];
  const RowPlaces places(job, item, head);
  const int rows = item.queries * job.queryHeads;
  // What warps have seen of a tile, where pages were: [team][row][channel], then maxima and sums.
  float* outputs = reinterpret_cast<float*>(shared);
  float* largests = outputs + WARPS * 16 * R::STRIDE;
  float* sums = largests + WARPS * 16;
  const int splits = item.splits;
  const size_t partialStride = static_cast<size_t>(job.kvHeads) * R::ROWS * R::PARTIAL;
  float* partial = job.partials + blockIdx.x * partialStride + head * (R::ROWS * R::PARTIAL);
  const auto write = [&](const Joined& joined, int row, int pair) {
    reinterpret_cast<float2*>(job.output + places.of(row) * R::DIM)[pair] = joined.normalized();
    if (job.logSumExp != nullptr && pair == 0) job.logSumExp[places.of(row)] = joined.logSumExp();
  };
#pragma unroll
  for (int tile = 0; tile < TILES; tile++) {
    __syncthreads();
#pragma unroll
    for (int row = 0; row < 2; row++) {
      const int mine = warp * 16 + 8 * row + lane / 4;
      float2* own = reinterpret_cast<float2*>(outputs + mine * R::STRIDE) + lane % 4;
#pragma unroll
      for (int run = 0; run < R::DIM / 8; run++)
        own[4 * run] = make_float2(seen[tile].valueOf(run, row, 0, shrink.factor, lane), seen[tile].valueOf(run, row, 1, shrink.factor, lane));
      if (lane % 4 == 2) largests[mine] = seen[tile].reference[row], sums[mine] = seen[tile].weightOf(row);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 16 * R::DIM / 2; i += blockDim.x) {
      const int row = 2 * i / R::DIM, pair = i % (R::DIM / 2);
      if (16 * tile + row >= rows) break;
      const Joined joined = join<WARPS>(largests + row, sums + row, 16, [&](int w) {
        return reinterpret_cast<const float2*>(outputs + (w * 16 + row) * R::STRIDE)[pair];
      });
      if (splits == 1) {
        write(joined, 16 * tile + row, pair);
      } else {
        reinterpret_cast<float2*>(partial + (16 * tile + row) * R::DIM)[pair] = joined.output;
        if (pair == 0) {
          partial[R::ROWS * R::DIM + 16 * tile + row] = joined.largest;
          partial[R::ROWS * (R::DIM + 1) + 16 * tile + row] = joined.sum;
        }
      }
    }
  }
  if (splits == 1) return;

  __syncthreads();
  bool isLast = false;
  if (threadIdx.x == 0) {
    const unsigned last = static_cast<unsigned>(splits) - 1u;
    isLast = countOne(job.arrivals + item.sequence * job.kvHeads + head, last) == last;
  }
  if (!__syncthreads_or(isLast)) return;
  const float* begin = partial - item.split * partialStride;
  float* shares = reinterpret_cast<float*>(shared);  // [row][split]
#pragma unroll 1
  for (int row = warp; row < rows; row += WARPS) {
    const float* largestOf = begin + R::ROWS * R::DIM + row;
    const float sum = shareOut(shares + row * splits, splits, lane, [&](int split) {
      const float* largest = largestOf + split * partialStride;
      return make_float2(__ldcg(largest), __ldcg(largest + R::ROWS));
    });
    if (job.logSumExp != nullptr && lane == 0) job.logSumExp[places.of(row)] = sum;
  }
  __syncthreads();
#pragma unroll 1
  for (int i = threadIdx.x; i < rows * R::DIM / 2; i += blockDim.x) {
    const int row = 2 * i / R::DIM, pair = i % (R::DIM / 2);
    ItemOutputs<8> outputs(reinterpret_cast<const float2*>(begin + row * R::DIM) + pair, partialStride / 2, splits);
    reinterpret_cast<float2*>(job.output + places.of(row) * R::DIM)[pair] = outputs.sum(shares + row * splits);
  }
}

/// The body of a kernel. Grid: (items, kv heads); 32 WARPS threads; SHARED_BYTES of dynamic shared memory.
template <PageLayout K, PageLayout V, int TILES, int WARPS>
__device__ __forceinline__ void attendRows(const DecodeJob& job) {
  using R = Rows<K, V, TILES, WARPS>;
  extern __shared__ __align__(128) uint8_t shared[];
  const int lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
  const int head = blockIdx.y;
  const Item item = job.itemTable[blockIdx.x];
  if (static_cast<int>(blockIdx.x) >= __ldg(job.items)) return;

  typename R::Slots ring(shared, warp, WARPS, lane);
  const typename R::Queries queries = {shared + R::SLOT_BYTES + WARPS * R::Keys::WARP_BYTES};
  const RowLimits limits = {item.position, job.queryHeads};
  const __half* reciprocals = nullptr;
  if (K.along == Along::CHANNELS && item.keyStatistics >= 0 && job.keyStatistics != nullptr)
    reciprocals = job.keyStatistics + (static_cast<size_t>(item.keyStatistics) * job.kvHeads + head) * K.headDim;
  const auto loadQueries = [&](const __half* factors) {
    const RowPlaces places(job, item, head);
    const int rows = item.queries * job.queryHeads;
    for (int row = warp; row < R::ROWS; row += WARPS)
      queries.store(row, row < rows, job.queries, job.queryType, row < rows ? places.of(row) * K.headDim : 0, factors, lane);
    __syncthreads();
  };
  Shrink shrink;
  SeenRows<V> seen[TILES];
#pragma unroll
  for (SeenRows<V>& tile : seen) tile.clear();
  loadQueries(nullptr);
  if (item.rests > 0) [[unlikely]] {
    meetRowRest<K, V, TILES, WARPS>(seen, queries, shrink, job, item, limits, reciprocals, head, warp, lane,
                                    reinterpret_cast<__half*>(ring.key), reinterpret_cast<__half*>(ring.value));
    ring.giveBack();
  }
  // Only packed keys are met with factors.
  if (reciprocals != nullptr) {
    __syncthreads();
    loadQueries(reciprocals);
  }

  // Of an entry each lane holds a word.
  const auto wordOf = [&](int page) { return __ldg(reinterpret_cast<const int*>(job.pageTable + item.firstPage + page) + lane % 4); };
  const auto fetchKey = [&](int key) { ring.fetchKey(job.keys + (static_cast<size_t>(key) * job.kvHeads + head) * K.bytes(), lane); };
  const auto fetchValue = [&](int value) { ring.fetchValue(job.values + (static_cast<size_t>(value) * job.kvHeads + head) * V.bytes(), lane); };
  int entry = 0;
  if (warp < item.pages) {
    entry = wordOf(warp);
    fetchKey(__shfl_sync(ALL, entry, 0));
    fetchValue(__shfl_sync(ALL, entry, 1));
  }
  typename R::Keys keys;
  keys.own = shared + R::SLOT_BYTES + warp * R::Keys::WARP_BYTES;
  for (int page = warp, turn = 0; page < item.pages; page += WARPS, turn++) {
    const bool isLast = page + WARPS >= item.pages;
    const int next = wordOf(isLast ? page : page + WARPS);
    const int position = __shfl_sync(ALL, entry, 2), slots = __shfl_sync(ALL, entry, 3);
    const bool isPlain = slots == PAGE_TOKENS << 16 && position + PAGE_TOKENS - 1 <= limits.position && job.softCap <= 0.0f;
#if LOWBIT_BULK
    ring.awaitKey(turn);
#else
    awaitAllCopies();
    __syncwarp();
#endif
    keys.begin(queries, ring.key, lane);
#pragma unroll 1
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
      float sums[TILES][CHUNK_RUNS][4], terms[TILES][2];
      keys.meet(sums, terms, queries, ring.key, chunk, lane);
      if (chunk == CHUNKS - 1) {
        __syncwarp();
        if (!isLast) fetchKey(__shfl_sync(ALL, next, 0));
      }
      LogitScale scales[TILES];
#pragma unroll
      for (int tile = 0; tile < TILES; tile++) {
#pragma unroll
        for (int row = 0; row < 2; row++) {
          const float unit = queries.unitOf(16 * tile + 8 * row + lane / 4) * job.scale;
          scales[tile].factors[row] = unit * (1.0f / CODE_UNIT);
          scales[tile].terms[row] = unit * terms[tile][row];
        }
      }
      if (!isPlain) [[unlikely]] {
        const int position = __shfl_sync(ALL, entry, 2), slots = __shfl_sync(ALL, entry, 3);
        const int first = slots & 0xffff, count = slots >> 16;
        int positions[CHUNK_RUNS][2];
#pragma unroll
        for (int run = 0; run < CHUNK_RUNS; run++) {
#pragma unroll
          for (int i = 0; i < 2; i++) {
            const int number = chunk * CHUNK_TOKENS + 8 * run + 2 * (lane % 4) + i - first;
            positions[run][i] = number >= 0 && number < count ? position + number : INT_MAX;
          }
        }
        settleLogits<K.bits>(sums, scales, positions, limits, job.softCap, lane);
      }
      uint32_t weights[CHUNK_RUNS / 2][TILES][4];
      weighRows<K.bits>(weights, seen, sums, scales);
      if (chunk == 0) {
#if LOWBIT_BULK
        ring.awaitValue(turn);
#endif
        shrink.admit(largestScale<V>(ring.value, lane), seen);
      }
      meetRowValues<V>(seen, weights, shrink, ring.value, chunk, lane);
    }
    __syncwarp();
    if (!isLast) fetchValue(__shfl_sync(ALL, next, 1));
    entry = next;
  }
  finishRows<K, V, TILES, WARPS>(job, seen, shrink, shared);
}

}  // namespace lowbit
