// Attention of one query token over pages whose outliers are told apart by bands: as decode.cuh, a warp owns pages of
// one kv head and holds what it has seen of them in registers.
//
// The middle band is met by integer tensor cores as codes of two lines that differ by their side: codes that rise with their values,
// and bit 3 alone. Outliers are met as if they were in it; what they differ by lies in a tile of f16 of 16 tokens at a time.
#pragma once
#include "band-keys.cuh"
#include "band-values.cuh"
#include "finish.cuh"
#include "ring.cuh"

namespace lowbit {

/// Numbers of a kernel.
template <int DIM, int WARPS>
struct Bands {
  /// As what stays of queries and sums is held.
  static constexpr PageLayout K = {Tensor::KEY, 4, DIM, Along::CHANNELS, DIM, false};
  static constexpr PageLayout V = {Tensor::VALUE, 4, DIM, Along::TOKENS, 32, false};
  static constexpr int HEADS = 4;
  using Page = BandPage<DIM>;
  using Tile = BandTile<DIM>;
  // What is done with a page takes many times what its copy takes: none needs to be on its way meanwhile.
  using Slots = Ring<Page::SLOT_BYTES, Page::SLOT_BYTES, true>;
  /// Tiles lie behind the barriers, at multiples of what ldmatrix turns addresses by.
  static constexpr int TILE_ALIGNMENT = 256;
  static constexpr int TILES = WARPS * Slots::BYTES + TILE_ALIGNMENT;
  static constexpr int SHARED_BYTES = TILES + WARPS * Tile::BYTES;
  static_assert(WARPS * Slots::BARRIER_BYTES <= TILE_ALIGNMENT && 2 * DIM <= TILE_ALIGNMENT);
  static_assert(TILES % TILE_ALIGNMENT == 0 && Tile::BYTES % TILE_ALIGNMENT == 0);
  /// Of 16 tokens outside of pages.
  static constexpr int REST_BYTES = 16 * 2 * DIM;
  static_assert(2 * REST_BYTES <= Page::SLOT_BYTES, "16 rows of both tensors fit where a page comes to");
};

/// Entries of the pages of a warp, 32 of them at a time in its lanes, and how many of their bytes come first.
template <int DIM>
struct HeldBandPages {
  using Page = BandPage<DIM>;
  const BandJob& job;
  const PageEntry* table;
  int head;
  int end, stride, begin;
  int4 held;
  int keyBytes, valueBytes;

  __device__ __forceinline__ const uint8_t* keyOf(int page) const { return job.keys + (static_cast<size_t>(page) * job.kvHeads + head) * job.key.headBytes; }
  __device__ __forceinline__ const uint8_t* valueOf(int page) const {
    return job.values + (static_cast<size_t>(page) * job.kvHeads + head) * job.value.headBytes;
  }

  /// Those of turns from a multiple of 32 on.
  __device__ __forceinline__ void hold(int turn, int lane) {
    const int page = begin + (turn + lane) * stride;
    held = make_int4(0, 0, 0, 0), keyBytes = valueBytes = Page::OUTLIERS;
    if (page >= end) return;
    held = __ldg(reinterpret_cast<const int4*>(table) + page);
    const int last = Page::CHUNKS * ((held.w & 0xffff) + (held.w >> 16)) - 1;
    const auto bytesOf = [&](const uint8_t* piece) {
      const uint16_t* ends = reinterpret_cast<const uint16_t*>(piece + Page::ENDS);
      const int outliers = static_cast<int>(__ldg(ends + last) & (BYTES_MARK - 1u));
      return Page::OUTLIERS + ((__ldg(ends) & BYTES_MARK) != 0 ? outliers + 15 : 2 * outliers + 15) / 16 * 16;
    };
    keyBytes = bytesOf(keyOf(held.x)), valueBytes = bytesOf(valueOf(held.y));
  }

  __device__ __forceinline__ const uint8_t* key(int turn) const { return keyOf(__shfl_sync(ALL, held.x, turn % LANES)); }
  __device__ __forceinline__ const uint8_t* value(int turn) const { return valueOf(__shfl_sync(ALL, held.y, turn % LANES)); }
  __device__ __forceinline__ int slots(int turn) const { return __shfl_sync(ALL, held.w, turn % LANES); }
  __device__ __forceinline__ int bytesOfKey(int turn) const { return __shfl_sync(ALL, keyBytes, turn % LANES); }
  __device__ __forceinline__ int bytesOfValue(int turn) const { return __shfl_sync(ALL, valueBytes, turn % LANES); }
};

/// The body of a kernel. Grid: (items, kv heads, HEADS of their query heads); 32 WARPS threads; SHARED_BYTES of dynamic shared
/// memory.
template <int DIM, int WARPS>
__device__ __forceinline__ void attendBands(const BandJob& job) {
  using B = Bands<DIM, WARPS>;
  constexpr PageLayout K = B::K, V = B::V;
  using Page = typename B::Page;
  using Tile = typename B::Tile;
  extern __shared__ __align__(B::TILE_ALIGNMENT) uint8_t shared[];
  const int lane = heldBack(threadIdx.x % LANES), warp = heldBack(threadIdx.x / LANES);
  const int head = blockIdx.y;
  const Item item = job.itemTable[blockIdx.x];
  if (static_cast<int>(blockIdx.x) >= __ldg(job.items)) return;

  typename B::Slots ring(shared, warp, WARPS, lane);
  uint8_t* tile = shared + B::TILES + warp * Tile::BYTES;
  HeldBandPages<DIM> entries = {job, job.pageTable + item.firstPage, head, item.pages, WARPS, warp};
  const int turns = (item.pages - warp + WARPS - 1) / WARPS;
  entries.hold(0, lane);
  const auto fetchKey = [&](int turn) {
    if (turn >= turns) return ring.skip();
    ring.fetchKey(entries.key(turn), lane, entries.bytesOfKey(turn));
  };
  const auto fetchValue = [&](int turn) {
    if (turn >= turns) return ring.skip();
    ring.fetchValue(entries.value(turn), lane, entries.bytesOfValue(turn));
  };
  const int firstHead = blockIdx.z * B::HEADS;
  const int heads = min(B::HEADS, job.queryHeads - firstHead);
  const size_t row = static_cast<size_t>(item.sequence) * job.kvHeads + head;
  const size_t firstRow = row * job.queryHeads + firstHead;
  Columns<K, V> columns[1];
  Seen<V>& seen = columns[0].seen;
  seen.clear();
  Queries<K>& queries = columns[0].queries;
  queries.load(job.queries, job.queryType, (firstRow + min(lane / 8, heads - 1)) * DIM, nullptr, job.scale, lane);
  Rest<K, V, 1, WARPS, BandRows<K>, BandRows<V>, BandJob> rest(job.restTable + item.firstRest, item.rests, warp, lane);
  rest.place(ring.key, ring.key + B::REST_BYTES, nullptr);
  if (!rest.isOver()) {
    rest.fetch(job, head, lane);
    rest.meet(columns, job, head, lane);
    ring.giveBack();
    // From channels 8 i + g, as tokens outside of pages leave them, to those that pages are met with.
    float* outputs = reinterpret_cast<float*>(tile);  // [channel][t]
#pragma unroll
    for (int i = 0; i < DIM / 8; i++) outputs[4 * (8 * i + lane / 4) + lane % 4] = seen.output[i];
    __syncwarp();
#pragma unroll
    for (int i = 0; i < DIM / 8; i++) seen.output[i] = outputs[4 * bandChannel<DIM>(i, lane) + lane % 4];
    __syncwarp();
  }
  fetchKey(0);
  turnParts<K>(queries, lane);
  Tile::clear(tile, lane);
  BandKeys<DIM> keys;
  keys.prepare(job, firstRow, heads, job.key, lane);
  __syncwarp();
  int slots = entries.slots(0);
#pragma unroll 1
  for (int turn = 0; turn < turns; turn++) {
    float logits[PAGE_TOKENS / 8];
    const int first = slots & 0xffff, end = first + (slots >> 16);
    ring.awaitKey(turn);
    const bool areBytes = hasBytes<DIM>(ring.key);
    int before = __reduce_max_sync(ALL, outliersBefore<DIM>(ring.key, first));
    // A loop that is not written out: its code would not fit into the instruction cache. Logits of later tokens push the others on.
#pragma unroll 1
    for (int pair = 0; pair < PAGE_TOKENS / 32; pair++) {
      Tile::fillLines(tile, ring.key, pair, job.key, lane);
      __syncwarp();
      pushOn<4>(logits);
#pragma unroll
      for (int half = 0; half < 2; half++) {
        const int number = 2 * pair + half;
        const typename Tile::Run run = Tile::runOf(ring.key, number, before, end);
        Tile::begin(tile, ring.key, run, half == 1, areBytes, lane);
        float& upper = logits[PAGE_TOKENS / 8 - 4 + 2 * half];
        float& lower = logits[PAGE_TOKENS / 8 - 3 + 2 * half];
        keys.meet(upper, lower, ring.key, number, job.key, lane);
        Tile::template finish<OutlierOrder::KEY>(tile, ring.key, number, run, half == 1, areBytes, lane);
        __syncwarp();
        meetKeyOutliers<K>(upper, lower, tile, queries, lane);
        __syncwarp();
        Tile::clear(tile, lane);
        if (half == 0) __syncwarp();
      }
    }
    __syncwarp();
    fetchValue(turn);
    if (job.softCap > 0.0f) capLogits(logits, job.softCap);
    if (slots != PAGE_TOKENS << 16) {
#pragma unroll
      for (int i = 0; i < PAGE_TOKENS / 8; i++) {
        const int token = 8 * i + lane / 4;
        if (token < first || token >= end) logits[i] = -INFINITY;
      }
    }
    ring.awaitValue(turn);
    meetBandValues<V>(seen, logits, ring.value, first, end, job.value, tile, lane);
    __syncwarp();
    if (turn % LANES == LANES - 1) entries.hold(turn + 1, lane);
    fetchKey(turn + 1);
    slots = entries.slots(turn + 1);
  }
  finish<B::Slots::BYTES, WARPS>(columns, shared, job, head, firstHead, heads, [](int number, int lane) { return bandChannel<DIM>(number, lane); });
}

}  // namespace lowbit
