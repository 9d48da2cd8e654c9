// Tokens that are on no page: windows, new tokens, and tokens that one tensor has packed and the other has not.
#pragma once
#include "job.cuh"
#include "queries.cuh"
#include "values.cuh"

namespace lowbit {

/// cap * tanh(logit / cap), as cap - 2 cap / (e^(2 logit / cap) + 1).
template <int N>
__device__ __forceinline__ void capLogits(float (&logits)[N], float cap) {
  const float slope = 2.0f * 1.44269504f / cap;
#pragma unroll
  for (int i = 0; i < N; i++) logits[i] = cap - __fdividef(2.0f * cap, exp2Fast(logits[i] * slope) + 1.0f);
}

constexpr unsigned PACKED = 0, WINDOW = 1;

__device__ __forceinline__ unsigned sourceOf(unsigned place) { return place >> 30; }
__device__ __forceinline__ unsigned rowNumberOf(unsigned place) { return place & 0x3fffffffu; }

/// Number of the f16 row of a token that is on no packed page, among those of its source.
__device__ __forceinline__ unsigned plainRowOf(const DecodeJob& job, unsigned place, int head) {
  const unsigned row = rowNumberOf(place), tokens = job.windowTokens;
  if (sourceOf(place) != WINDOW) return row * job.kvHeads + head;
  return (row / tokens * job.kvHeads + head) * tokens + row % tokens;
}

__device__ __forceinline__ uint32_t pairOf(__half low, __half high) {
  const __half2 pair = __halves2half2(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}

/// Rows of 16 tokens of a tensor in shared memory: those on packed pages are decoded, rounded to f16, the others copied.
/// `reciprocals`: f16 factors of the channels of packed keys, or null. IN_FLIGHT: tokens, or quads of a lane, that are decoded together.
template <PageLayout L, int IN_FLIGHT>
struct RestRows {
  static constexpr int CHUNKS = L.headDim / 8;
  /// Chunks of neighbour rows lie in different banks.
  static constexpr int TURN = CHUNKS % 8 == 0 ? 7 : 3;
  /// Quads are four neighbour channels of a token: a word of codes, which comes to where their row is, and parameters side by side.
  static constexpr bool BY_QUADS = L.tensor == Tensor::KEY && L.bits != 3;
  static constexpr int QUADS = L.headDim / 4;
  /// Of a lane, whose parameters are on their way together: mostly those of the next ones come with them to the L1 cache.
  static constexpr int BATCH = BY_QUADS ? IN_FLIGHT : 1;
  static constexpr int BATCHES = 16 * QUADS / LANES / BATCH;
  __half* rows;
  const __half* reciprocals;
  static constexpr unsigned NOWHERE = 0xffffffffu;
  /// Of the token of a lane, where it is packed: its piece in units of 128 bytes, and inside of that the word of its first codes, 2^16
  /// times its first parameters, 2^28 times the field of a byte. What channels add is the same for all tokens.
  unsigned piece, inside;
  uint2 scales[BATCH], zeros[BATCH];

  static __device__ __forceinline__ int at(int token, int channel) {
    return token * L.headDim + (channel / 8 ^ (token & TURN)) * 8 + channel % 8;
  }

  /// As `fetch`, but to the L2 cache only, and most of it: the page of the first token, two lines of rows in windows.
  static __device__ __forceinline__ void announce(const DecodeJob& job, unsigned held, int head, int lane) {
    if (sourceOf(held) == WINDOW) {
      const __half* windows = L.tensor == Tensor::KEY ? job.keyWindows : job.valueWindows;
      prefetchLine(windows + static_cast<size_t>(plainRowOf(job, held, head)) * L.headDim + lane / 16 * (L.headDim / 2));
    }
#if LOWBIT_BULK
    if (lane == 0 && sourceOf(held) == PACKED) prefetchBulk(pieceOf(job, held, head), L.bytes());
#endif
  }

  /// All lanes call; lanes t and t + 16 give the place of token t. Everything is on its way afterwards, or as much as fits.
  __device__ __forceinline__ void fetch(const DecodeJob& job, unsigned held, int head, int lane) {
    const bool isPacked = sourceOf(held) == PACKED;
    if (__any_sync(ALL, !isPacked)) copyRows(job, held, head, lane);
    if constexpr (BY_QUADS) {
      if (!__any_sync(ALL, isPacked)) return;
      const int slot = slotOf(held);
      const int entry = L.along == Along::TOKENS ? L.parameterPlace(slot / L.groupSize, 0) : L.parameterPlace(0, slot);
      piece = (rowNumberOf(held) / PAGE_TOKENS * job.kvHeads + head) * (L.bytes() / 128);
      inside = isPacked ? L.codeBit(slot, 0) / 32 | entry << 16 | slot % (8 * FIELDS) / 8 << 28 : NOWHERE;
#pragma unroll 1
      for (int batch = 0; batch < BATCHES; batch++) fetchCodes(job, lane, batch);
      fetchParameters(job, lane, 0);
    }
  }

  /// Until all rows are there. Lanes see those that others decoded after the next barrier of the warp.
  __device__ __forceinline__ void complete(const DecodeJob& job, unsigned held, int head, int lane) {
    awaitAllCopies();
    if (!__any_sync(ALL, sourceOf(held) == PACKED)) return;
    if constexpr (BY_QUADS) {
#pragma unroll 1
      for (int batch = 0;;) {
        decodeQuads(lane, batch);
        if (++batch == BATCHES) return;
        fetchParameters(job, lane, batch);
      }
    } else {
      decode(job, held, head, lane);
    }
  }

 private:
  static constexpr int FIELDS = fieldsOfByte(L.bits);

  __device__ __forceinline__ void copyRows(const DecodeJob& job, unsigned held, int head, int lane) const {
    constexpr bool IS_KEY = L.tensor == Tensor::KEY;
    const __half* windows = IS_KEY ? job.keyWindows : job.valueWindows;
    const __half* input = IS_KEY ? job.keyInput : job.valueInput;
    const unsigned heldRow = plainRowOf(job, held, head);
#pragma unroll
    for (int i = 0; i < 16 * CHUNKS / LANES; i++) {
      const int token = (LANES * i + lane) / CHUNKS, chunk = (LANES * i + lane) % CHUNKS;
      const unsigned source = sourceOf(__shfl_sync(ALL, held, token));
      const size_t row = __shfl_sync(ALL, heldRow, token);
      if (source != PACKED) copy16(sharedAddress(rows + at(token, 8 * chunk)), (source == WINDOW ? windows : input) + row * L.headDim + 8 * chunk);
    }
  }

  static __device__ __forceinline__ const uint8_t* pieceOf(const DecodeJob& job, unsigned place, int head) {
    const uint8_t* pieces = L.tensor == Tensor::KEY ? job.keys : job.values;
    return pieces + (static_cast<size_t>(rowNumberOf(place) / PAGE_TOKENS) * job.kvHeads + head) * L.bytes();
  }

  static __device__ __forceinline__ int slotOf(unsigned place) { return static_cast<int>(rowNumberOf(place) % PAGE_TOKENS); }

  __device__ __forceinline__ __half valueOf(unsigned code, float scale, float zero, int channel) const {
    // 2^23 and the code, as a float.
    const float middle = !L.hasZero || (L.isHybrid && !signbit(scale)) ? 1 << (L.bits - 1) : 0;
    const float number = __uint_as_float(0x4b000000u | code) - (8388608.0f + middle);
    if (L.isHybrid) scale = fabsf(scale);
    float value = fmaf(number, scale, L.hasZero ? zero : 0.0f);
    if (L.tensor == Tensor::KEY && reciprocals != nullptr) value *= 1.0f / __half2float(reciprocals[channel]);
    return __float2half_rn(value);
  }

  static __device__ __forceinline__ int tokenOf(int batch, int i, int lane) { return (LANES * (BATCH * batch + i) + lane) / QUADS; }
  static __device__ __forceinline__ int channelOf(int batch, int i, int lane) { return (LANES * (BATCH * batch + i) + lane) % QUADS * 4; }

  __device__ __forceinline__ void fetchCodes(const DecodeJob& job, int lane, int batch) const {
#pragma unroll
    for (int i = 0; i < BATCH; i++) {
      const int token = tokenOf(batch, i, lane), channel = channelOf(batch, i, lane);
      const size_t first = __shfl_sync(ALL, piece, token);
      const unsigned place = __shfl_sync(ALL, inside, token);
      if (place != NOWHERE) copy4(sharedAddress(rows + at(token, channel)), job.keys + first * 128 + 4 * ((place & 0xffff) + L.codeBit(0, channel) / 32));
    }
  }

  __device__ __forceinline__ void fetchParameters(const DecodeJob& job, int lane, int batch) {
    constexpr bool ALONG_TOKENS = L.along == Along::TOKENS;
#pragma unroll
    for (int i = 0; i < BATCH; i++) {
      const int token = tokenOf(batch, i, lane), channel = channelOf(batch, i, lane);
      const size_t first = __shfl_sync(ALL, piece, token);
      const unsigned place = __shfl_sync(ALL, inside, token);
      if (place == NOWHERE) continue;
      const int own = ALONG_TOKENS ? L.parameterPlace(0, channel) : L.parameterPlace(channel / L.groupSize, 0);
      const uint8_t* entry = job.keys + first * 128 + 2 * ((place >> 16 & 0xfff) + own);
      const auto load = [&](int plane) {
        if constexpr (ALONG_TOKENS) {
          const uint2 x = *reinterpret_cast<const uint2*>(entry + plane);
          if constexpr (!L.isMetInHalves()) return x;
          return make_uint2(__byte_perm(x.x, x.y, 0x5410), __byte_perm(x.x, x.y, 0x7632));
        }
        const uint32_t one = *reinterpret_cast<const uint16_t*>(entry + plane);
        return make_uint2(one << 16 | one, one << 16 | one);
      };
      scales[i] = load(L.scaleByte());
      if constexpr (L.hasZero) zeros[i] = load(L.zeroByte());
    }
  }

  /// Words of codes become the rows of their quads.
  __device__ __forceinline__ void decodeQuads(int lane, int batch) const {
#pragma unroll
    for (int i = 0; i < BATCH; i++) {
      const int token = tokenOf(batch, i, lane), channel = channelOf(batch, i, lane);
      const unsigned place = __shfl_sync(ALL, inside, token);
      if (place == NOWHERE) continue;
      __half* row = rows + at(token, channel);
      const uint32_t fields = *reinterpret_cast<const uint32_t*>(row) >> L.bits * (place >> 28);
      const float s[4] = {lowHalf(scales[i].x), highHalf(scales[i].x), lowHalf(scales[i].y), highHalf(scales[i].y)};
      const float z[4] = {lowHalf(zeros[i].x), highHalf(zeros[i].x), lowHalf(zeros[i].y), highHalf(zeros[i].y)};
      __half values[4];
#pragma unroll
      for (int j = 0; j < 4; j++)
        values[j] = valueOf(fields >> 8 * j & ((1 << L.bits) - 1), s[j], z[j], channel + j);
      *reinterpret_cast<uint2*>(row) = make_uint2(pairOf(values[0], values[1]), pairOf(values[2], values[3]));
    }
  }

  /// The byte, or with 3 bits the two bytes, that hold a code.
  static __device__ __forceinline__ unsigned loadCode(const uint8_t* piece, int slot, int channel) {
    const unsigned first = piece[L.codeBit(slot, channel) / 8];
    if constexpr (L.bits != 3) return first;
    return first | piece[L.codeBit(slot, channel, 2) / 8] << 8;
  }

  static __device__ __forceinline__ unsigned codeIn(unsigned bytes, int slot, int channel) {
    const int bit = L.codeBit(slot, channel);
    if constexpr (L.bits != 3) return bytes >> bit % 8 & ((1 << L.bits) - 1);
    const int middle = L.codeBit(slot, channel, 1), last = L.codeBit(slot, channel, 2);
    const unsigned low = bytes >> bit % 8 & 1, high = bytes >> (8 + last % 8) & 1;
    return low | (bytes >> (middle % 8 + (middle / 8 == bit / 8 ? 0 : 8)) & 1) << 1 | high << 2;
  }

  __device__ __forceinline__ void decode(const DecodeJob& job, unsigned held, int head, int lane) const {
    /// Channels of a lane, and tokens whose bytes are on their way together.
    constexpr int CHANNELS = L.headDim / LANES;
    constexpr int BATCH = CHANNELS <= 4 ? IN_FLIGHT : 2;
#pragma unroll 1
    for (int first = 0; first < 16; first += BATCH) {
      unsigned codes[BATCH][CHANNELS];
      __half scales[BATCH][CHANNELS], zeros[BATCH][CHANNELS];
      bool packed[BATCH];
      int slots[BATCH];
#pragma unroll
      for (int i = 0; i < BATCH; i++) {
        const unsigned place = __shfl_sync(ALL, held, first + i);
        packed[i] = sourceOf(place) == PACKED;
        slots[i] = slotOf(place);
        const uint8_t* piece = pieceOf(job, place, head);
#pragma unroll
        for (int c = 0; c < CHANNELS; c++) {
          const int channel = lane + LANES * c;
          const bool alongTokens = L.along == Along::TOKENS;
          const int entry = L.parameterPlace((alongTokens ? slots[i] : channel) / L.groupSize, alongTokens ? channel : slots[i]);
          codes[i][c] = packed[i] ? loadCode(piece, slots[i], channel) : 0u;
          scales[i][c] = packed[i] ? reinterpret_cast<const __half*>(piece + L.scaleByte())[entry] : __half();
          if constexpr (L.hasZero) zeros[i][c] = packed[i] ? reinterpret_cast<const __half*>(piece + L.zeroByte())[entry] : __half();
        }
      }
#pragma unroll
      for (int i = 0; i < BATCH; i++) {
        if (!packed[i]) continue;
#pragma unroll
        for (int c = 0; c < CHANNELS; c++) {
          const int channel = lane + LANES * c;
          const float zero = L.hasZero ? __half2float(zeros[i][c]) : 0.0f;
          rows[at(first + i, channel)] = valueOf(codeIn(codes[i][c], slots[i], channel), __half2float(scales[i][c]), zero, channel);
        }
      }
    }
  }
};

/// What a warp meets of up to four query heads, lane % 4 of them.
template <PageLayout K, PageLayout V>
struct Columns {
  Queries<K> queries;
  Seen<V> seen;
};

/// The first token of the table that a warp meets: the last warps have fewer pages where those do not divide.
template <int WARPS>
__device__ __forceinline__ int firstRestOf(int warp) { return 16 * (WARPS - 1 - warp); }

/// More query heads, and larger ones, leave fewer registers.
LOWBIT_ANYWHERE int restsInFlight(int tiles, int headDim) { return tiles == 1 && headDim <= 128 ? 4 : 2; }

/// Meets tokens that are on no page both, 16 of an item at a time, in f16 with sums in f32. Rows come to shared memory, where pages
/// do later: room for 16 rows of each tensor. `KeyRows`, `ValueRows`: what fetches them.
template <PageLayout K, PageLayout V, int TILES, int WARPS, class KeyRows = RestRows<K, restsInFlight(TILES, V.headDim)>,
          class ValueRows = RestRows<V, restsInFlight(TILES, V.headDim)>, class Job = DecodeJob>
struct Rest {
  const RestEntry* table;
  int count;
  int first;
  RestEntry own;
  KeyRows keys;
  ValueRows values;

  __device__ __forceinline__ bool isOver() const { return first >= count; }

  __device__ __forceinline__ Rest(const RestEntry* table, int count, int warp, int lane) : table(table), count(count), first(firstRestOf<WARPS>(warp)) {
    hold(lane);
  }

  /// `reciprocals`: f16 factors of the channels of packed keys, or null.
  __device__ __forceinline__ void place(uint8_t* keyRows, uint8_t* valueRows, const __half* reciprocals) {
    keys.rows = reinterpret_cast<__half*>(keyRows), keys.reciprocals = reciprocals;
    values.rows = reinterpret_cast<__half*>(valueRows), values.reciprocals = nullptr;
  }

  /// Rows that are fetched later, on their way to the L2 cache.
  __device__ __forceinline__ void announce(const Job& job, int head, int lane) const {
    if (isOver()) return;
    keys.announce(job, own.key, head, lane);
    values.announce(job, own.value, head, lane);
  }

  /// Rows are on their way afterwards.
  __device__ __forceinline__ void fetch(const Job& job, int head, int lane) {
    keys.fetch(job, own.key, head, lane);
    values.fetch(job, own.value, head, lane);
  }

  /// Meets what was fetched, and all that the warp has left.
  __device__ __forceinline__ void meet(Columns<K, V> (&tiles)[TILES], const Job& job, int head, int lane) {
#pragma unroll 1
    for (;;) {
      keys.complete(job, own.key, head, lane);
      values.complete(job, own.value, head, lane);
      __syncwarp();
      meetRows(tiles, job.softCap, lane);
      first += 16 * WARPS;
      if (isOver()) return;
      hold(lane);
      __syncwarp();
      fetch(job, head, lane);
    }
  }

 private:
  __device__ __forceinline__ void hold(int lane) {
    if (!isOver()) own = table[min(first + lane % 16, count - 1)];
  }

  __device__ __forceinline__ void meetRows(Columns<K, V> (&tiles)[TILES], float softCap, int lane) const {
    const int g = lane / 4, t = lane % 4;
    const auto fourOfKey = [&](int token, int channel) { return *reinterpret_cast<const uint2*>(keys.rows + KeyRows::at(token, channel)); };
    float sums[TILES][4] = {};
#pragma unroll
    for (int half = 0; half < K.halves(); half++) {
      const uint2 high = fourOfKey(g, 16 * half + 4 * t);
      const uint2 low = fourOfKey(g + 8, 16 * half + 4 * t);
      const uint32_t a[4] = {high.x, low.x, high.y, low.y};
#pragma unroll
      for (int tile = 0; tile < TILES; tile++)
        multiplyHalves(sums[tile], a, tiles[tile].queries.parts[half][0], tiles[tile].queries.parts[half][1]);
    }
    float kept[TILES];
    uint32_t b[TILES][2];
#pragma unroll
    for (int tile = 0; tile < TILES; tile++) {
      Seen<V>& seen = tiles[tile].seen;
      float logits[2] = {sums[tile][0] + sums[tile][1], sums[tile][2] + sums[tile][3]};
      if (softCap > 0.0f) capLogits(logits, softCap);
      if (first + g >= count) logits[0] = -INFINITY;
      if (first + g + 8 >= count) logits[1] = -INFINITY;
      const float largest = maxOfRows(fmaxf(logits[0], logits[1]));
      // Logits of minus infinity only: as if they were not there.
      const float raised = largest == -INFINITY ? 0.0f : fmaxf(seen.largest, largest);
      kept[tile] = largest == -INFINITY ? 1.0f : exp2Fast(seen.largest - raised);
      if (largest != -INFINITY) seen.largest = raised;
      const float weights[2] = {exp2Fast(logits[0] - raised), exp2Fast(logits[1] - raised)};
      seen.sum = fmaf(seen.sum, kept[tile], weights[0] + weights[1]);
#pragma unroll
      for (float& zeros : seen.zeros) zeros *= kept[tile];
#pragma unroll
      for (int i = 0; i < 2; i++) {
        const __half high = __float2half_rn(weights[i]);
        b[tile][i] = transposed(pairOf(high, __float2half_rn(weights[i] - __half2float(high))));
      }
    }
#pragma unroll
    for (int rowPair = 0; rowPair < V.headDim / 16; rowPair++) {
      uint32_t a[4];
      // Lanes 8 i + r: token r + 8 (i / 2), channels 8 (i % 2) on.
      const int token = lane % 8 + lane / 16 * 8;
      loadTransposed(a, sharedAddress(values.rows + ValueRows::at(token, 16 * rowPair + lane / 8 % 2 * 8)));
#pragma unroll
      for (int tile = 0; tile < TILES; tile++) {
        float out[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        multiplyHalves(out, a, b[tile][0], b[tile][1]);
        float* seen = tiles[tile].seen.output + 2 * rowPair;
        seen[0] = fmaf(seen[0], kept[tile], out[0] + out[1]);
        seen[1] = fmaf(seen[1], kept[tile], out[2] + out[3]);
      }
    }
  }
};

}  // namespace lowbit
