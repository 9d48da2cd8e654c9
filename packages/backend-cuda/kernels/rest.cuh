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

/// The f16 row of a token that is on no packed page.
template <PageLayout L>
__device__ __forceinline__ const __half* plainRow(const DecodeJob& job, unsigned place, int head) {
  constexpr bool IS_KEY = L.tensor == Tensor::KEY;
  const size_t row = rowNumberOf(place);
  if (sourceOf(place) == WINDOW) {
    const size_t first = (row / job.windowTokens * job.kvHeads + head) * job.windowTokens + row % job.windowTokens;
    return (IS_KEY ? job.keyWindows : job.valueWindows) + first * L.headDim;
  }
  return (IS_KEY ? job.keyInput : job.valueInput) + (row * job.kvHeads + head) * L.headDim;
}

/// Rows of 16 tokens of a tensor in shared memory: those on packed pages are decoded, rounded to f16, the others copied.
/// `reciprocals`: f16 factors of the channels of packed keys, or null. IN_FLIGHT: quads of a lane that are on their way together.
template <PageLayout L, int IN_FLIGHT>
struct RestRows {
  static constexpr int CHUNKS = L.headDim / 8;
  /// Chunks of neighbour rows lie in different banks.
  static constexpr int TURN = CHUNKS % 8 == 0 ? 7 : 3;
  __half* rows;
  const __half* reciprocals;

  static __device__ __forceinline__ int at(int token, int channel) {
    return token * L.headDim + (channel / 8 ^ (token & TURN)) * 8 + channel % 8;
  }

  /// All lanes call; lanes t and t + 16 give the place of token t. Copies are on their way afterwards.
  __device__ __forceinline__ void load(const DecodeJob& job, unsigned held, int head, int lane) const {
#pragma unroll
    for (int i = 0; i < 16 * CHUNKS / LANES; i++) {
      const int token = (LANES * i + lane) / CHUNKS, chunk = (LANES * i + lane) % CHUNKS;
      const unsigned place = __shfl_sync(ALL, held, token);
      if (sourceOf(place) != PACKED) copy16(sharedAddress(rows + at(token, 8 * chunk)), plainRow<L>(job, place, head) + 8 * chunk);
    }
    if (!__any_sync(ALL, sourceOf(held) == PACKED)) return;
    if constexpr (L.tensor == Tensor::KEY && L.bits != 3) decodeQuads(job, held, head, lane);
    else decode(job, held, head, lane);
  }

 private:
  static __device__ __forceinline__ const uint8_t* pieceOf(const DecodeJob& job, unsigned place, int head) {
    const uint8_t* pieces = L.tensor == Tensor::KEY ? job.keys : job.values;
    return pieces + (static_cast<size_t>(rowNumberOf(place) / PAGE_TOKENS) * job.kvHeads + head) * L.bytes();
  }

  static __device__ __forceinline__ int slotOf(unsigned place) { return static_cast<int>(rowNumberOf(place) % PAGE_TOKENS); }

  __device__ __forceinline__ __half valueOf(int code, float scale, float zero, int channel) const {
    if (!L.hasZero || (L.isHybrid && !signbit(scale))) code -= 1 << (L.bits - 1);
    if (L.isHybrid) scale = fabsf(scale);
    float value = fmaf(static_cast<float>(code), scale, L.hasZero ? zero : 0.0f);
    if (L.tensor == Tensor::KEY && reciprocals != nullptr) value *= 1.0f / __half2float(reciprocals[channel]);
    return __float2half_rn(value);
  }

  /// Four neighbour channels at a time: a word of codes, and parameters that lie side by side.
  __device__ __forceinline__ void decodeQuads(const DecodeJob& job, unsigned held, int head, int lane) const {
    constexpr int QUADS = L.headDim / 4;
    constexpr int MOST = LANES * IN_FLIGHT / QUADS;
    constexpr int BATCH = MOST >= 16 ? 16 : MOST >= 8 ? 8 : MOST >= 4 ? 4 : 2;  // tokens
    constexpr int OWN = BATCH * QUADS / LANES;
    constexpr bool ALONG_TOKENS = L.along == Along::TOKENS;
    constexpr int FIELDS = fieldsOfByte(L.bits);
#pragma unroll 1
    for (int first = 0; first < 16; first += BATCH) {
      uint32_t codes[OWN];
      uint2 scales[OWN], zeros[OWN];
      unsigned places[OWN];
#pragma unroll
      for (int i = 0; i < OWN; i++) {
        const int token = first + (LANES * i + lane) / QUADS, channel = (LANES * i + lane) % QUADS * 4;
        places[i] = __shfl_sync(ALL, held, token % 16);
        codes[i] = 0, scales[i] = zeros[i] = make_uint2(0u, 0u);
        if (sourceOf(places[i]) != PACKED) continue;
        const uint8_t* piece = pieceOf(job, places[i], head);
        const int slot = slotOf(places[i]);
        codes[i] = __ldg(reinterpret_cast<const uint32_t*>(piece) + L.codeBit(slot, channel) / 32);
        const int entry = ALONG_TOKENS ? L.parameterPlace(slot / L.groupSize, channel) : L.parameterPlace(channel / L.groupSize, slot);
        const auto load = [&](int plane) {
          if constexpr (ALONG_TOKENS) return __ldg(reinterpret_cast<const uint2*>(piece + plane + 2 * entry));
          const uint32_t one = __ldg(reinterpret_cast<const uint16_t*>(piece + plane) + entry);
          return make_uint2(one << 16 | one, one << 16 | one);
        };
        scales[i] = load(L.scaleByte());
        if constexpr (L.hasZero) zeros[i] = load(L.zeroByte());
      }
#pragma unroll
      for (int i = 0; i < OWN; i++) {
        if (sourceOf(places[i]) != PACKED) continue;
        const int token = first + (LANES * i + lane) / QUADS, channel = (LANES * i + lane) % QUADS * 4;
        const uint32_t fields = codes[i] >> L.bits * (slotOf(places[i]) % (8 * FIELDS) / 8);
        const float s[4] = {lowHalf(scales[i].x), highHalf(scales[i].x), lowHalf(scales[i].y), highHalf(scales[i].y)};
        const float z[4] = {lowHalf(zeros[i].x), highHalf(zeros[i].x), lowHalf(zeros[i].y), highHalf(zeros[i].y)};
#pragma unroll
        for (int j = 0; j < 4; j++)
          rows[at(token, channel + j)] = valueOf(static_cast<int>(fields >> 8 * j & ((1 << L.bits) - 1)), s[j], z[j], channel + j);
      }
    }
  }

  /// The byte, or with 3 bits the two bytes, that hold a code.
  static __device__ __forceinline__ unsigned loadCode(const uint8_t* piece, int slot, int channel) {
    const unsigned first = __ldg(piece + L.codeBit(slot, channel) / 8);
    if constexpr (L.bits != 3) return first;
    return first | __ldg(piece + L.codeBit(slot, channel, 2) / 8) << 8;
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
    constexpr int BATCH = CHANNELS <= 4 ? 4 : 2;
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
          scales[i][c] = packed[i] ? __ldg(reinterpret_cast<const __half*>(piece + L.scaleByte()) + entry) : __half();
          if constexpr (L.hasZero) zeros[i][c] = packed[i] ? __ldg(reinterpret_cast<const __half*>(piece + L.zeroByte()) + entry) : __half();
        }
      }
#pragma unroll
      for (int i = 0; i < BATCH; i++) {
        if (!packed[i]) continue;
#pragma unroll
        for (int c = 0; c < CHANNELS; c++) {
          const int channel = lane + LANES * c;
          const float zero = L.hasZero ? __half2float(zeros[i][c]) : 0.0f;
          const int code = static_cast<int>(codeIn(codes[i][c], slots[i], channel));
          rows[at(first + i, channel)] = valueOf(code, __half2float(scales[i][c]), zero, channel);
        }
      }
    }
  }
};

__device__ __forceinline__ uint32_t pairOf(__half low, __half high) {
  const __half2 pair = __halves2half2(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}

/// What a warp meets of up to four query heads, lane % 4 of them.
template <PageLayout K, PageLayout V>
struct Columns {
  Queries<K> queries;
  Seen<V> seen;
};

/// The token of the table that a lane holds of the first run of its warp: the last warps have fewer pages where those do not divide.
template <int WARPS>
__device__ __forceinline__ int firstRestOf(int warp) { return 16 * (WARPS - 1 - warp); }

/// More query heads leave fewer registers.
LOWBIT_ANYWHERE int quadsInFlight(int tiles) { return tiles == 1 ? 8 : 4; }

/// Adds tokens that are on no page both, `begin` to `end` of an item, 16 at a time, in f16 with sums in f32. IN_SHARED: rows are
/// read from shared memory, room for 16 rows of each tensor, as they must where there are packed ones among them. `early`: entry
/// firstRestOf(warp) + lane % 16, when `begin` is 0. `KeyRows`, `ValueRows`: what decodes packed ones.
template <PageLayout K, PageLayout V, int TILES, int WARPS, bool IN_SHARED, class KeyRows = RestRows<K, quadsInFlight(TILES)>,
          class ValueRows = RestRows<V, quadsInFlight(TILES)>, class Job>
__device__ __forceinline__ void meetRest(Columns<K, V> (&tiles)[TILES], const Job& job, const RestEntry* table, const RestEntry& early,
                                         int begin, int end, int head, const __half* reciprocals, int warp, int lane, __half* keyRows,
                                         __half* valueRows) {
  const int g = lane / 4, t = lane % 4;
  const KeyRows keys = {keyRows, reciprocals};
  const ValueRows values = {valueRows, nullptr};
#pragma unroll 1
  for (int first = begin + firstRestOf<WARPS>(warp); first < end; first += 16 * WARPS) {
    const RestEntry own = first == firstRestOf<WARPS>(warp) ? early : table[min(first + lane % 16, end - 1)];
    const __half* rows[2] = {};
    if constexpr (IN_SHARED) {
      __syncwarp();
      keys.load(job, own.key, head, lane);
      values.load(job, own.value, head, lane);
      awaitAllCopies();
      __syncwarp();
    } else {
      rows[0] = plainRow<K>(job, __shfl_sync(ALL, own.key, g), head);
      rows[1] = plainRow<K>(job, __shfl_sync(ALL, own.key, g + 8), head);
    }
    const auto fourOfKey = [&](int token, int channel) {
      const __half* four = IN_SHARED ? keyRows + KeyRows::at(token, channel) : rows[token / 8] + channel;
      return *reinterpret_cast<const uint2*>(four);
    };
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
      if (job.softCap > 0.0f) capLogits(logits, job.softCap);
      if (first + g >= end) logits[0] = -INFINITY;
      if (first + g + 8 >= end) logits[1] = -INFINITY;
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
    const __half* columns[4] = {};
    if constexpr (!IN_SHARED) {
#pragma unroll
      for (int i = 0; i < 4; i++)
        columns[i] = plainRow<V>(job, __shfl_sync(ALL, own.value, 2 * t + i % 2 + i / 2 * 8), head) + g;
    }
#pragma unroll
    for (int rowPair = 0; rowPair < V.headDim / 16; rowPair++) {
      uint32_t a[4];
      if constexpr (IN_SHARED) {
        // Lanes 8 i + r: token r + 8 (i / 2), channels 8 (i % 2) on.
        const int token = lane % 8 + lane / 16 * 8;
        loadTransposed(a, sharedAddress(valueRows + ValueRows::at(token, 16 * rowPair + lane / 8 % 2 * 8)));
      } else {
#pragma unroll
        for (int i = 0; i < 4; i++) {
          const int channel = 16 * rowPair + 8 * (i % 2);
          a[i] = pairOf(columns[i / 2 * 2][channel], columns[i / 2 * 2 + 1][channel]);
        }
      }
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
}

}  // namespace lowbit
