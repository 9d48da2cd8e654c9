// Attention of one query token over packed pages: a warp owns pages of one kv head, and holds what it has seen of them in
// registers; warps of a CTA meet once, CTAs of a head meet in the last of them. Query heads that share a kv head are columns, four
// to a tile; a kernel has tiles for four or eight of them, and a grid for any number.
//
// Nothing is dequantized. Codes are masked into the A operand of integer tensor cores (layout.cuh). Queries, with the scales
// of keys folded in, are 16-bit integers whose high and low bytes are two columns of B; so are weights, with the scales of
// values folded in. Sums start at a power of two that makes their bits a float. Keys of 2 bits in small groups are met in f16 instead
// (half-keys.cuh).
#pragma once
#include "finish.cuh"
#include "half-keys.cuh"
#include "job.cuh"
#include "keys.cuh"
#include "overlap.cuh"
#include "rest.cuh"
#include "ring.cuh"
#include "values.cuh"

namespace lowbit {

/// What meets keys of a layout.
template <PageLayout K, bool ALONG_TOKENS = K.along == Along::TOKENS, bool IN_HALVES = K.isMetInHalves()>
struct KeysOf {
  using Type = GroupedKeys<K>;
};
template <PageLayout K>
struct KeysOf<K, true, false> {
  using Type = FoldedKeys<K>;
};
template <PageLayout K>
struct KeysOf<K, true, true> {
  using Type = HalfKeys<K>;
};

/// Numbers of a kernel that follow from its plan.
template <PageLayout K, PageLayout V, int TILES, int WARPS>
struct Decode {
  static_assert(K.tensor == Tensor::KEY && V.tensor == Tensor::VALUE);
  using Slots = Ring<K.bytes(), V.bytes()>;
  using Keys = typename KeysOf<K>::Type;
  static constexpr int DIM = V.headDim;
  static constexpr int TOKEN_ROWS = PAGE_TOKENS / 8;
  /// Query heads of a CTA at most: four to a tile of columns.
  static constexpr int HEADS = 4 * TILES;
  static constexpr int SHARED_BYTES = WARPS * (Slots::BYTES + Slots::BARRIER_BYTES);
  static_assert(K.bytes() >= 32 * K.headDim && V.bytes() >= 32 * V.headDim, "16 rows fit where a page comes to");
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

  finish<D::Slots::BYTES, WARPS>(tiles, shared, job, head, firstHead, heads, [](int number, int lane) { return 8 * number + lane / 4; });
}

}  // namespace lowbit
