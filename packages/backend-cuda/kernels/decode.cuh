// Attention of one query token over packed pages: a warp owns pages of one kv head, and holds what it has seen of them in
// registers; warps of a CTA meet once, CTAs of a head meet in the last of them.
//
// Nothing is dequantized. Codes are masked into the A operand of integer tensor cores (layout.cuh). Queries, with the scales
// of keys folded in, are 16-bit integers whose high and low bytes are two columns of B; so are weights, with the scales of
// values folded in. Sums start at a power of two that makes their bits a float.
#pragma once
#include <type_traits>

#include "layout.cuh"
#include "mma.cuh"

namespace lowbit {

/// A run of tokens that both tensors hold in the same slots of packed pages.
struct PageEntry {
  int key;
  int value;
  /// Of the token in the first slot.
  int position;
  /// First slot, and 65536 times how many.
  int slots;
};

/// What one CTA of every kv head meets: pages, and tokens that are none.
struct Item {
  int sequence;
  int firstPage;
  int pages;
  int firstRest;
  int rests;
  /// Number of the item among those of its sequence, which follow one another, and how many they are.
  int split;
  int splits;
  /// Of the query.
  int position;
};

/// Where a token that is on no page lies: 2^30 times where (0 packed page, 1 window page, 2 input), and its row: number of the
/// page times tokens of a page, plus its slot.
struct RestEntry {
  unsigned key;
  unsigned value;
  int position;
  int unused;
};

/// What a launch reads and writes. Page `id` of a pool holds its heads one after another.
struct DecodeJob {
  const uint8_t* keys;
  const uint8_t* values;
  /// f16 [page][kv head][slot][channel].
  const __half* keyWindows;
  const __half* valueWindows;
  /// f16 [row][kv head][channel].
  const __half* keyInput;
  const __half* valueInput;
  /// How many items there are; the grid may be larger.
  const int* items;
  const Item* itemTable;
  const PageEntry* pageTable;
  const RestEntry* restTable;
  /// [sequence][kv head][query head of it][channel].
  const __half* queries;
  /// [item][kv head][query head][channel], then maxima and sums.
  float* partials;
  /// [sequence][kv head]: 0 before and after.
  unsigned* arrivals;
  /// [sequence][kv head][query head of it][channel].
  float* output;
  /// [sequence][kv head][query head of it], natural, or null.
  float* logSumExp;
  int kvHeads;
  int windowTokens;
  /// Of the softmax, times log2(e).
  float scale;
  /// Of logits to base 2; 0 where there is none.
  float softCap;
  /// Positions that a query sees, its own included; 0 for all.
  int slidingWindow;
};

/// Numbers of a kernel that follow from its plan.
template <PageLayout K, PageLayout V, int GROUP, int WARPS_, int STAGES_>
struct Decode {
  static_assert(K.tensor == Tensor::KEY && V.tensor == Tensor::VALUE);
  static_assert(GROUP >= 1 && GROUP <= 4, "four query heads fill the columns");
  static constexpr int DIM = V.headDim;
  static constexpr int WARPS = WARPS_;
  static constexpr int STAGES = STAGES_;
  static constexpr int STAGE_BYTES = K.bytes() + V.bytes();
  static constexpr int RING_BYTES = WARPS * STAGES * STAGE_BYTES;
  static constexpr int HALVES = K.halves();
  static constexpr int TOKEN_ROWS = PAGE_TOKENS / 8;
  static constexpr int CHANNEL_ROWS = DIM / 8;
  static constexpr int PARTIAL = GROUP * DIM + 2 * GROUP;
  static constexpr int SHARED_BYTES = RING_BYTES + WARPS * STAGES * 2 * 8;
  static_assert(SHARED_BYTES <= 227 * 1024 - 128, "the ring is larger than shared memory");
};

constexpr float SIGNED_ZERO = 12582912.0f;   // 1.5 2^23: sums on both sides of it are floats by their bits
constexpr int SIGNED_ZERO_BITS = 0x4B400000;
constexpr float UNSIGNED_ZERO = 8388608.0f;  // 2^23
constexpr int UNSIGNED_ZERO_BITS = 0x4B000000;
constexpr float LARGEST_QUERY = 32512.0f;    // the high byte of what is rounded to it stays within 127
constexpr float LARGEST_WEIGHT = 65500.0f;
constexpr unsigned ALL = 0xffffffffu;

template <int BITS>
__device__ __forceinline__ constexpr uint32_t fieldMask(int field) {
  return ((1u << BITS) - 1u) * 0x01010101u << (BITS * field);
}

/// 2^-(bits field): rows of a field come out so much too large.
template <int BITS>
__device__ __forceinline__ constexpr float fieldFactor(int field) {
  return 1.0f / static_cast<float>(1u << (BITS * field));
}

__device__ __forceinline__ float lowHalf(uint32_t word) { return __low2float(*reinterpret_cast<const __half2*>(&word)); }
__device__ __forceinline__ float highHalf(uint32_t word) { return __high2float(*reinterpret_cast<const __half2*>(&word)); }

__device__ __forceinline__ float maxOfRows(float x) {
  x = fmaxf(x, __shfl_xor_sync(ALL, x, 4));
  x = fmaxf(x, __shfl_xor_sync(ALL, x, 8));
  return fmaxf(x, __shfl_xor_sync(ALL, x, 16));
}

__device__ __forceinline__ float sumOfRows(float x) {
  x += __shfl_xor_sync(ALL, x, 4);
  x += __shfl_xor_sync(ALL, x, 8);
  return x + __shfl_xor_sync(ALL, x, 16);
}

/// Values of the middle code of two groups: zero + 2^(bits - 1) scale.
template <int BITS>
__device__ __forceinline__ uint32_t middleOf(uint32_t scales, uint32_t zeros) {
  const __half2 middle = __hfma2(*reinterpret_cast<const __half2*>(&scales), __float2half2_rn(static_cast<float>(1 << (BITS - 1))),
                                 *reinterpret_cast<const __half2*>(&zeros));
  return *reinterpret_cast<const uint32_t*>(&middle);
}

/// Words of a stripe that one lane multiplies: its halves, in vectors.
template <PageLayout L>
__device__ __forceinline__ void loadStripe(uint32_t (&words)[L.halves()], const uint8_t* codes, int stripe, int lane) {
  if constexpr (L.vector() == 4) {
#pragma unroll
    for (int v = 0; v < L.halves() / 4; v++) {
      const uint4 x = reinterpret_cast<const uint4*>(codes)[(stripe * (L.halves() / 4) + v) * LANES + lane];
      words[4 * v] = x.x, words[4 * v + 1] = x.y, words[4 * v + 2] = x.z, words[4 * v + 3] = x.w;
    }
  } else {
#pragma unroll
    for (int v = 0; v < L.halves() / 2; v++) {
      const uint2 x = reinterpret_cast<const uint2*>(codes)[(stripe * (L.halves() / 2) + v) * LANES + lane];
      words[2 * v] = x.x, words[2 * v + 1] = x.y;
    }
  }
}

__device__ __forceinline__ uint32_t maxOfPairs(uint32_t a, uint32_t b) {
  const __half2 x = __hmax2(*reinterpret_cast<const __half2*>(&a), *reinterpret_cast<const __half2*>(&b));
  return *reinterpret_cast<const uint32_t*>(&x);
}

/// Queries of head lane / 8 as they meet keys. Lanes of even g prepare the first half of the channels, those of odd g the
/// second, each channels 4 t to 4 t + 3 of every k-half, and hand one another the bytes that they need.
template <PageLayout K>
struct Queries {
  static constexpr int HALVES = K.halves();
  static constexpr int OWN = HALVES / 2;
  float own[OWN][4];
  /// `own` in units of a page.
  float scaled[OWN][4];
  /// High parts as f16 in lanes of even g, low parts in odd ones: B of the products with zeros.
  uint32_t parts[HALVES][2];
  /// High bytes in lanes of even g, low bytes in odd ones: B of the products with codes.
  uint32_t bytes[HALVES];

  __device__ __forceinline__ void load(const __half* query, float scale, int lane, bool isUsed) {
    const int t = lane % 4, role = lane / 4 % 2;
    float x[HALVES][4];
#pragma unroll
    for (int half = 0; half < HALVES; half++) {
      uint2 q = make_uint2(0u, 0u);
      if (isUsed) q = __ldg(reinterpret_cast<const uint2*>(query) + 4 * half + t);
      x[half][0] = lowHalf(q.x) * scale, x[half][1] = highHalf(q.x) * scale;
      x[half][2] = lowHalf(q.y) * scale, x[half][3] = highHalf(q.y) * scale;
#pragma unroll
      for (int pair = 0; pair < 2; pair++) {
        __half2 part = __floats2half2_rn(x[half][2 * pair], x[half][2 * pair + 1]);
        if (role == 1)
          part = __floats2half2_rn(x[half][2 * pair] - __low2float(part), x[half][2 * pair + 1] - __high2float(part));
        parts[half][pair] = *reinterpret_cast<uint32_t*>(&part);
      }
    }
#pragma unroll
    for (int half = 0; half < OWN; half++)
#pragma unroll
      for (int j = 0; j < 4; j++) own[half][j] = role == 0 ? x[half][j] : x[half + OWN][j];
  }

  /// The scales of a group of tokens that this lane folds in.
  static __device__ __forceinline__ const uint2* scalesOf(const uint8_t* page, int group, int lane) {
    const uint8_t* plane = page + K.scaleByte() + 2 * group * K.headDim;
    return reinterpret_cast<const uint2*>(plane) + lane % 4 * HALVES + lane / 4 % 2 * OWN;
  }

  /// Chooses the unit of a page, so that no product with a scale exceeds LARGEST_QUERY. Gives that of head lane % 4.
  __device__ __forceinline__ float measure(const uint8_t* page, int lane) {
    uint2 scales[OWN];
#pragma unroll
    for (int half = 0; half < OWN; half++) {
      scales[half] = scalesOf(page, 0, lane)[half];
#pragma unroll
      for (int group = 1; group < K.groups(); group++) {
        const uint2 others = scalesOf(page, group, lane)[half];
        scales[half].x = maxOfPairs(scales[half].x, others.x);
        scales[half].y = maxOfPairs(scales[half].y, others.y);
      }
    }
    float largest = 0.0f;
#pragma unroll
    for (int half = 0; half < OWN; half++) {
      largest = fmaxf(largest, fabsf(own[half][0] * lowHalf(scales[half].x)));
      largest = fmaxf(largest, fabsf(own[half][1] * highHalf(scales[half].x)));
      largest = fmaxf(largest, fabsf(own[half][2] * lowHalf(scales[half].y)));
      largest = fmaxf(largest, fabsf(own[half][3] * highHalf(scales[half].y)));
    }
    return scaleTo(largest, lane);
  }

  /// Folds the scales of a group of tokens in.
  __device__ __forceinline__ void fold(const uint8_t* page, int group, int lane) {
#pragma unroll
    for (int half = 0; half < OWN; half++) {
      const uint2 s = scalesOf(page, group, lane)[half];
      const float factors[4] = {lowHalf(s.x), highHalf(s.x), lowHalf(s.y), highHalf(s.y)};
      split(half, factors, lane);
    }
  }

  /// For keys whose scales are no part of the query: once.
  __device__ __forceinline__ float prepare(int lane) {
    float largest = 0.0f;
#pragma unroll
    for (int half = 0; half < OWN; half++)
#pragma unroll
      for (int j = 0; j < 4; j++) largest = fmaxf(largest, fabsf(own[half][j]));
    const float unit = scaleTo(largest, lane);
    constexpr float ONES[4] = {1.0f, 1.0f, 1.0f, 1.0f};
#pragma unroll
    for (int half = 0; half < OWN; half++) split(half, ONES, lane);
    return unit;
  }

 private:
  /// `largest` of this lane becomes LARGEST_QUERY at most in all that prepare its head. Gives the unit of head lane % 4.
  __device__ __forceinline__ float scaleTo(float largest, int lane) {
    largest = fmaxf(largest, __shfl_xor_sync(ALL, largest, 1));
    largest = fmaxf(largest, __shfl_xor_sync(ALL, largest, 2));
    largest = fmaxf(largest, __shfl_xor_sync(ALL, largest, 4));
    const float inverse = largest > 1e-30f ? __fdividef(LARGEST_QUERY, largest) : 0.0f;
#pragma unroll
    for (int half = 0; half < OWN; half++)
#pragma unroll
      for (int j = 0; j < 4; j++) scaled[half][j] = own[half][j] * inverse;
    return __shfl_sync(ALL, largest * (1.0f / LARGEST_QUERY), 8 * (lane % 4));
  }

  /// Rounds channels of one k-half to 16 bits, and trades bytes with the lane that prepares the other channels.
  __device__ __forceinline__ void split(int half, const float (&factors)[4], int lane) {
    const int role = lane / 4 % 2;
    // Both bytes over 128, so that they do not carry.
    constexpr float ZERO = SIGNED_ZERO + 32896.0f;
    uint32_t v[4];
#pragma unroll
    for (int j = 0; j < 4; j++) v[j] = __float_as_uint(fmaf(scaled[half][j], factors[j], ZERO));
    const uint32_t first = __byte_perm(v[0], v[1], 0x5410);
    const uint32_t second = __byte_perm(v[2], v[3], 0x5410);
    const uint32_t low = __byte_perm(first, second, 0x6420) ^ 0x80808080u;
    const uint32_t high = __byte_perm(first, second, 0x7531) ^ 0x80808080u;
    const uint32_t other = __shfl_xor_sync(ALL, role == 0 ? low : high, 4);
    bytes[half] = role == 0 ? high : other;
    bytes[half + OWN] = role == 0 ? other : low;
  }
};

/// Sums of products of a query with the middle codes of keys, zero + 2^(bits - 1) scale: [group of tokens], head lane % 4.
/// Scales and zeros are met apart: their sum has more digits than f16.
template <PageLayout K>
__device__ __forceinline__ void middleTerms(float (&terms)[K.groups()], const Queries<K>& queries, const uint8_t* page, int lane) {
  const int g = lane / 4, t = lane % 4;
  float scales[4] = {0.0f, 0.0f, 0.0f, 0.0f}, zeros[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  const uint2* at = reinterpret_cast<const uint2*>(page + K.scaleByte() + 2 * g * K.headDim) + t * K.halves();
  constexpr int TO_ZEROS = (K.zeroByte() - K.scaleByte()) / 8;
#pragma unroll
  for (int half = 0; half < K.halves(); half++) {
    uint2 s = make_uint2(0u, 0u), z = make_uint2(0u, 0u);
    if (g < K.groups()) s = at[half], z = at[half + TO_ZEROS];
    const uint32_t scaleRows[4] = {s.x, 0u, s.y, 0u}, zeroRows[4] = {z.x, 0u, z.y, 0u};
    multiplyHalves(scales, scaleRows, queries.parts[half][0], queries.parts[half][1]);
    multiplyHalves(zeros, zeroRows, queries.parts[half][0], queries.parts[half][1]);
  }
  const float term = fmaf(scales[0] + scales[1], static_cast<float>(1 << (K.bits - 1)), zeros[0] + zeros[1]);
#pragma unroll
  for (int i = 0; i < K.groups(); i++) terms[i] = __shfl_sync(ALL, term, 4 * i + t);
}

/// Registers of A: fields `field` and the next of two words.
template <int BITS>
__device__ __forceinline__ void codesOf(uint32_t (&a)[4], int field, uint32_t first, uint32_t second) {
  a[0] = first & fieldMask<BITS>(field), a[1] = first & fieldMask<BITS>(field + 1);
  a[2] = second & fieldMask<BITS>(field), a[3] = second & fieldMask<BITS>(field + 1);
}

/// Keys with groups along tokens: scales are folded into the query.
template <PageLayout K>
struct FoldedKeys {
  Queries<K>& queries;

  __device__ __forceinline__ FoldedKeys(Queries<K>& queries, int) : queries(queries) {}

  /// Logits, to base 2, of tokens 8 i + lane / 4 and head lane % 4.
  __device__ __forceinline__ void meet(float (&logits)[PAGE_TOKENS / 8], const uint8_t* page, int lane) {
    constexpr int FIELDS = fieldsOfByte(K.bits);
    constexpr int STRIPE_TOKENS = 8 * FIELDS;
    float terms[K.groups()];
    middleTerms<K>(terms, queries, page, lane);
    const float unit = queries.measure(page, lane);
#pragma unroll
    for (int group = 0; group < K.groups(); group++) {
      queries.fold(page, group, lane);
      // The query in all, as it was rounded: codes count from their middle.
      int ones[4] = {0, 0, 0, 0};
#pragma unroll
      for (int step = 0; step < K.halves() / 2; step++) {
        const uint32_t a[4] = {0x01010101u, 0x01010101u, 0x01010101u, 0x01010101u};
        multiplySigned(ones, a, queries.bytes[2 * step], queries.bytes[2 * step + 1]);
      }
      const float term = terms[group];
#pragma unroll
      for (int s = 0; s < K.groupSize / STRIPE_TOKENS; s++) {
        const int stripe = group * (K.groupSize / STRIPE_TOKENS) + s;
        uint32_t words[K.halves()];
        loadStripe<K>(words, page, stripe, lane);
#pragma unroll
        for (int field = 0; field < FIELDS; field += 2) {
          int sum[4];
#pragma unroll
          for (int i = 0; i < 4; i++) sum[i] = SIGNED_ZERO_BITS - (ones[i % 2] << (K.bits - 1 + K.bits * (field + i / 2)));
#pragma unroll
          for (int step = 0; step < K.halves() / 2; step++) {
            uint32_t a[4];
            codesOf<K.bits>(a, field, words[2 * step], words[2 * step + 1]);
            multiplySigned(sum, a, queries.bytes[2 * step], queries.bytes[2 * step + 1]);
          }
#pragma unroll
          for (int row = 0; row < 2; row++) {
            const float factor = unit * fieldFactor<K.bits>(field + row);
            const float high = __int_as_float(sum[2 * row]) - SIGNED_ZERO;
            const float low = __int_as_float(sum[2 * row + 1]) - SIGNED_ZERO;
            logits[stripe * FIELDS + field + row] = fmaf(high, 256.0f * factor, fmaf(low, factor, term));
          }
        }
      }
    }
  }
};

/// 16 halves of a plane of parameters that a lane reads: of tokens, or channels, 8 i + lane / 4.
template <int N>
__device__ __forceinline__ void loadParameters(float (&values)[N], const uint8_t* plane, int lane) {
#pragma unroll
  for (int v = 0; v < N / 4; v++) {
    const uint2 x = reinterpret_cast<const uint2*>(plane + 2 * N * (lane / 4))[v];
    values[4 * v] = lowHalf(x.x), values[4 * v + 1] = highHalf(x.x);
    values[4 * v + 2] = lowHalf(x.y), values[4 * v + 3] = highHalf(x.y);
  }
}

/// Keys with groups along channels: the query is prepared once, sums of groups are scaled. Symmetric codes count from their
/// middle; the others meet zeros with the query as it was rounded.
template <PageLayout K>
struct GroupedKeys {
  static constexpr int GROUPS = K.groups();
  static constexpr int GROUP_STEPS = K.groupSize / 32;
  static constexpr float MIDDLE = K.hasZero ? 0.0f : static_cast<float>(1 << (K.bits - 1));
  const Queries<K>& queries;
  float unit;
  /// High and low bytes of the query in all, by group.
  float ones[GROUPS][2];

  __device__ __forceinline__ GroupedKeys(Queries<K>& queries, int lane) : queries(queries) {
    unit = queries.prepare(lane);
#pragma unroll
    for (int group = 0; group < GROUPS; group++) {
      int sum[4] = {0, 0, 0, 0};
#pragma unroll
      for (int step = group * GROUP_STEPS; step < (group + 1) * GROUP_STEPS; step++) {
        const uint32_t a[4] = {0x01010101u, 0x01010101u, 0x01010101u, 0x01010101u};
        multiplySigned(sum, a, queries.bytes[2 * step], queries.bytes[2 * step + 1]);
      }
      ones[group][0] = static_cast<float>(sum[0]), ones[group][1] = static_cast<float>(sum[1]);
    }
  }

  __device__ __forceinline__ void meet(float (&logits)[PAGE_TOKENS / 8], const uint8_t* page, int lane) {
    constexpr int FIELDS = fieldsOfByte(K.bits);
    constexpr int ROWS = PAGE_TOKENS / 8;
#pragma unroll
    for (int i = 0; i < ROWS; i++) logits[i] = 0.0f;
    // Every stripe has all channels: parameters of a group are loaded for as many tokens as stripes have at once.
#pragma unroll
    for (int stripe = 0; stripe < K.stripes(); stripe++) {
      uint32_t words[K.halves()];
      loadStripe<K>(words, page, stripe, lane);
#pragma unroll
      for (int group = 0; group < GROUPS; group++) {
        float scales[FIELDS], zeros[FIELDS];
        const uint8_t* plane = page + K.scaleByte() + 2 * (group * PAGE_TOKENS + lane / 4 * ROWS + stripe * FIELDS);
#pragma unroll
        for (int pair = 0; pair < FIELDS / 2; pair++) {
          const uint32_t s = reinterpret_cast<const uint32_t*>(plane)[pair];
          scales[2 * pair] = lowHalf(s), scales[2 * pair + 1] = highHalf(s);
          if constexpr (K.hasZero) {
            const uint32_t z = reinterpret_cast<const uint32_t*>(plane + K.zeroByte() - K.scaleByte())[pair];
            zeros[2 * pair] = lowHalf(z), zeros[2 * pair + 1] = highHalf(z);
          }
        }
#pragma unroll
        for (int field = 0; field < FIELDS; field += 2) {
          int sum[4] = {SIGNED_ZERO_BITS, SIGNED_ZERO_BITS, SIGNED_ZERO_BITS, SIGNED_ZERO_BITS};
#pragma unroll
          for (int step = group * GROUP_STEPS; step < (group + 1) * GROUP_STEPS; step++) {
            uint32_t a[4];
            codesOf<K.bits>(a, field, words[2 * step], words[2 * step + 1]);
            multiplySigned(sum, a, queries.bytes[2 * step], queries.bytes[2 * step + 1]);
          }
#pragma unroll
          for (int row = 0; row < 2; row++) {
            const float factor = fieldFactor<K.bits>(field + row);
            const float middle = MIDDLE / factor;
            const float high = __int_as_float(sum[2 * row]) - fmaf(ones[group][0], middle, SIGNED_ZERO);
            const float low = __int_as_float(sum[2 * row + 1]) - fmaf(ones[group][1], middle, SIGNED_ZERO);
            float& logit = logits[stripe * FIELDS + field + row];
            logit = fmaf(fmaf(high, 256.0f, low), scales[field + row] * factor, logit);
            if constexpr (K.hasZero) logit = fmaf(fmaf(ones[group][0], 256.0f, ones[group][1]), zeros[field + row], logit);
          }
        }
      }
    }
#pragma unroll
    for (int i = 0; i < ROWS; i++) logits[i] *= unit;
  }
};

/// cap * tanh(logit / cap).
template <int N>
__device__ __forceinline__ void capLogits(float (&logits)[N], float cap) {
#pragma unroll
  for (int i = 0; i < N; i++) logits[i] = cap * tanhf(logits[i] / cap);
}

/// What a warp has seen of one head, lane % 4 of its queries: relative to the largest logit. Sums of lanes are parts.
template <PageLayout V>
struct Seen {
  float largest;
  float sum;
  /// Of groups along channels.
  float zeros[V.along == Along::CHANNELS ? V.groups() : 1];
  /// Channel 8 i + lane / 4.
  float output[V.headDim / 8];
};

/// Weights of a page relative to its largest logit, in place, and how what was seen and what comes weigh. False where nothing is
/// seen of the page: masks are those of all heads.
template <PageLayout V>
__device__ __forceinline__ bool weigh(Seen<V>& seen, float (&logits)[PAGE_TOKENS / 8], float& kept, float& added) {
  constexpr int ROWS = PAGE_TOKENS / 8;
  float largest = logits[0];
#pragma unroll
  for (int i = 1; i < ROWS; i++) largest = fmaxf(largest, logits[i]);
  largest = maxOfRows(largest);
  if (largest == -INFINITY) return false;
  const float raised = fmaxf(seen.largest, largest);
  kept = exp2Fast(seen.largest - raised);
  added = exp2Fast(largest - raised);
  seen.largest = raised;
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < ROWS; i++) {
    logits[i] = exp2Fast(logits[i] - largest);
    sum += logits[i];
  }
  seen.sum = fmaf(seen.sum, kept, sum * added);
  return true;
}

/// B of the products with codes of 16 tokens: weights as floats over UNSIGNED_ZERO.
__device__ __forceinline__ uint32_t weightBytes(float upper, float lower) {
  return transposed(__byte_perm(__float_as_uint(upper), __float_as_uint(lower), 0x4051));
}

/// Values with groups along tokens: weights are rounded as they are, sums of groups are scaled. Symmetric codes count from their
/// middle; the others meet zeros with the weights as they were rounded.
template <PageLayout V>
__device__ __forceinline__ void meetGroupedValues(Seen<V>& seen, float (&logits)[PAGE_TOKENS / 8], const uint8_t* page, int lane) {
  constexpr int FIELDS = fieldsOfByte(V.bits);
  constexpr int CHANNEL_ROWS = V.headDim / 8;
  constexpr int GROUP_STEPS = V.groupSize / 32;
  constexpr float MIDDLE = V.hasZero ? 0.0f : static_cast<float>(1 << (V.bits - 1));
  float kept, added;
  if (!weigh<V>(seen, logits, kept, added)) return;
  uint32_t weights[PAGE_TOKENS / 16];
#pragma unroll
  for (int half = 0; half < PAGE_TOKENS / 16; half++)
    weights[half] = weightBytes(fmaf(logits[2 * half], LARGEST_WEIGHT, UNSIGNED_ZERO),
                                fmaf(logits[2 * half + 1], LARGEST_WEIGHT, UNSIGNED_ZERO));
  const float factor = added * (1.0f / LARGEST_WEIGHT);
#pragma unroll
  for (int i = 0; i < CHANNEL_ROWS; i++) seen.output[i] *= kept;
#pragma unroll
  for (int group = 0; group < V.groups(); group++) {
    int ones[4] = {UNSIGNED_ZERO_BITS, UNSIGNED_ZERO_BITS, UNSIGNED_ZERO_BITS, UNSIGNED_ZERO_BITS};
#pragma unroll
    for (int step = group * GROUP_STEPS; step < (group + 1) * GROUP_STEPS; step++) {
      const uint32_t a[4] = {0x01010101u, 0x01010101u, 0x01010101u, 0x01010101u};
      multiplyUnsigned(ones, a, weights[2 * step], weights[2 * step + 1]);
    }
    const float high = __int_as_float(ones[0]) - UNSIGNED_ZERO;
    const float low = __int_as_float(ones[1]) - UNSIGNED_ZERO;
#pragma unroll
    for (int stripe = 0; stripe < V.stripes(); stripe++) {
      float scales[FIELDS], zeros[FIELDS];
      const uint8_t* plane = page + V.scaleByte() + 2 * (group * V.headDim + lane / 4 * CHANNEL_ROWS + stripe * FIELDS);
#pragma unroll
      for (int pair = 0; pair < FIELDS / 2; pair++) {
        const uint32_t s = reinterpret_cast<const uint32_t*>(plane)[pair];
        scales[2 * pair] = lowHalf(s) * factor, scales[2 * pair + 1] = highHalf(s) * factor;
        if constexpr (V.hasZero) {
          const uint32_t z = reinterpret_cast<const uint32_t*>(plane + V.zeroByte() - V.scaleByte())[pair];
          zeros[2 * pair] = lowHalf(z) * factor, zeros[2 * pair + 1] = highHalf(z) * factor;
        }
      }
      // Of the stripe's halves the two, or more, of this group.
      const uint8_t* words = page + 4 * V.wordIndex(stripe, 2 * group * GROUP_STEPS, lane);
#pragma unroll
      for (int field = 0; field < FIELDS; field += 2) {
        int sum[4] = {UNSIGNED_ZERO_BITS, UNSIGNED_ZERO_BITS, UNSIGNED_ZERO_BITS, UNSIGNED_ZERO_BITS};
#pragma unroll
        for (int step = 0; step < GROUP_STEPS; step++) {
          const uint2 pair = *reinterpret_cast<const uint2*>(words + 4 * (V.wordIndex(0, 2 * step, 0)));
          uint32_t a[4];
          codesOf<V.bits>(a, field, pair.x, pair.y);
          multiplyUnsigned(sum, a, weights[2 * (group * GROUP_STEPS + step)], weights[2 * (group * GROUP_STEPS + step) + 1]);
        }
#pragma unroll
        for (int row = 0; row < 2; row++) {
          const float exact = fieldFactor<V.bits>(field + row);
          const float middle = MIDDLE / exact;
          const float h = __int_as_float(sum[2 * row]) - fmaf(high, middle, UNSIGNED_ZERO);
          const float l = __int_as_float(sum[2 * row + 1]) - fmaf(low, middle, UNSIGNED_ZERO);
          float& out = seen.output[stripe * FIELDS + field + row];
          out = fmaf(fmaf(h, 256.0f, l), scales[field + row] * exact, out);
          if constexpr (V.hasZero) out = fmaf(fmaf(high, 256.0f, low), zeros[field + row], out);
        }
      }
    }
  }
}

/// Values with groups along channels: scales are folded into the weights. Codes count from their middle.
template <PageLayout V>
__device__ __forceinline__ void meetFoldedValues(Seen<V>& seen, float (&logits)[PAGE_TOKENS / 8], const uint8_t* page, int lane) {
  constexpr int ROWS = PAGE_TOKENS / 8;
  constexpr int FIELDS = fieldsOfByte(V.bits);
  constexpr int STRIPE_CHANNELS = 8 * FIELDS;
  constexpr float CENTRE = static_cast<float>(1 << (V.bits - 1));
  const int g = lane / 4;
  float kept, added;
  if (!weigh<V>(seen, logits, kept, added)) return;
  // One unit for the page, so that no weight with a scale exceeds LARGEST_WEIGHT.
  const uint8_t* plane = page + V.scaleByte() + 2 * g * ROWS;
  float peak = 0.0f;
#pragma unroll
  for (int v = 0; v < ROWS / 8; v++) {
    uint4 s = reinterpret_cast<const uint4*>(plane)[v];
#pragma unroll
    for (int group = 1; group < V.groups(); group++) {
      const uint4 other = reinterpret_cast<const uint4*>(plane + 2 * group * PAGE_TOKENS)[v];
      s.x = maxOfPairs(s.x, other.x), s.y = maxOfPairs(s.y, other.y);
      s.z = maxOfPairs(s.z, other.z), s.w = maxOfPairs(s.w, other.w);
    }
    const uint32_t pairs[4] = {s.x, s.y, s.z, s.w};
#pragma unroll
    for (int j = 0; j < 4; j++) {
      peak = fmaxf(peak, logits[8 * v + 2 * j] * lowHalf(pairs[j]));
      peak = fmaxf(peak, logits[8 * v + 2 * j + 1] * highHalf(pairs[j]));
    }
  }
  peak = maxOfRows(peak);
  const float unit = peak > 1e-30f ? __fdividef(LARGEST_WEIGHT, peak) : 0.0f;
  const float factor = added * peak * (1.0f / LARGEST_WEIGHT);

#pragma unroll
  for (int group = 0; group < V.groups(); group++) {
    uint32_t weights[PAGE_TOKENS / 16];
    float zeros = 0.0f;
#pragma unroll
    for (int v = 0; v < ROWS / 8; v++) {
      const uint4 s = reinterpret_cast<const uint4*>(plane + 2 * group * PAGE_TOKENS)[v];
      const uint32_t pairs[4] = {s.x, s.y, s.z, s.w};
      uint32_t middles[4];
      if constexpr (V.hasZero) {
        const uint4 z = reinterpret_cast<const uint4*>(plane + V.zeroByte() - V.scaleByte() + 2 * group * PAGE_TOKENS)[v];
        middles[0] = middleOf<V.bits>(s.x, z.x), middles[1] = middleOf<V.bits>(s.y, z.y);
        middles[2] = middleOf<V.bits>(s.z, z.z), middles[3] = middleOf<V.bits>(s.w, z.w);
      }
#pragma unroll
      for (int j = 0; j < 4; j++) {
        const int i = 8 * v + 2 * j;
        if constexpr (V.hasZero) zeros = fmaf(logits[i + 1], highHalf(middles[j]), fmaf(logits[i], lowHalf(middles[j]), zeros));
        weights[i / 2] = weightBytes(fmaf(logits[i] * unit, lowHalf(pairs[j]), UNSIGNED_ZERO),
                                     fmaf(logits[i + 1] * unit, highHalf(pairs[j]), UNSIGNED_ZERO));
      }
    }
    // Weights in all, as they were rounded: codes count from their centre.
    int ones[4] = {UNSIGNED_ZERO_BITS, UNSIGNED_ZERO_BITS, UNSIGNED_ZERO_BITS, UNSIGNED_ZERO_BITS};
#pragma unroll
    for (int step = 0; step < PAGE_TOKENS / 32; step++) {
      const uint32_t a[4] = {0x01010101u, 0x01010101u, 0x01010101u, 0x01010101u};
      multiplyUnsigned(ones, a, weights[2 * step], weights[2 * step + 1]);
    }
    const float high = __int_as_float(ones[0]) - UNSIGNED_ZERO;
    const float low = __int_as_float(ones[1]) - UNSIGNED_ZERO;
    if constexpr (V.hasZero) seen.zeros[group] = fmaf(seen.zeros[group], kept, zeros * added);
#pragma unroll
    for (int s = 0; s < V.groupSize / STRIPE_CHANNELS; s++) {
      const int stripe = group * (V.groupSize / STRIPE_CHANNELS) + s;
      uint32_t words[PAGE_TOKENS / 16];
      loadStripe<V>(words, page, stripe, lane);
#pragma unroll
      for (int field = 0; field < FIELDS; field += 2) {
        int sums[4] = {UNSIGNED_ZERO_BITS, UNSIGNED_ZERO_BITS, UNSIGNED_ZERO_BITS, UNSIGNED_ZERO_BITS};
#pragma unroll
        for (int step = 0; step < PAGE_TOKENS / 32; step++) {
          uint32_t a[4];
          codesOf<V.bits>(a, field, words[2 * step], words[2 * step + 1]);
          multiplyUnsigned(sums, a, weights[2 * step], weights[2 * step + 1]);
        }
#pragma unroll
        for (int row = 0; row < 2; row++) {
          const float exact = fieldFactor<V.bits>(field + row);
          const float centre = CENTRE / exact;
          const float h = __int_as_float(sums[2 * row]) - fmaf(high, centre, UNSIGNED_ZERO);
          const float l = __int_as_float(sums[2 * row + 1]) - fmaf(low, centre, UNSIGNED_ZERO);
          float& out = seen.output[stripe * FIELDS + field + row];
          out = fmaf(h, 256.0f * (factor * exact), fmaf(l, factor * exact, out * kept));
        }
      }
    }
  }
}

/// Where a row of one head lies: as f16, or as a slot of a packed page.
struct Row {
  const __half* halves;
  const uint8_t* piece;
  int slot;
};

template <PageLayout L>
__device__ __forceinline__ Row rowOf(const DecodeJob& job, unsigned place, int head) {
  const unsigned source = place >> 30, row = place & 0x3fffffffu;
  constexpr bool IS_KEY = L.tensor == Tensor::KEY;
  if (source == 0) {
    const size_t page = row / PAGE_TOKENS;
    return {nullptr, (IS_KEY ? job.keys : job.values) + (page * job.kvHeads + head) * L.bytes(), static_cast<int>(row % PAGE_TOKENS)};
  }
  if (source == 1) {
    const size_t page = row / job.windowTokens, slot = row % job.windowTokens;
    const size_t first = (page * job.kvHeads + head) * job.windowTokens + slot;
    return {(IS_KEY ? job.keyWindows : job.valueWindows) + first * L.headDim, nullptr, 0};
  }
  return {(IS_KEY ? job.keyInput : job.valueInput) + (static_cast<size_t>(row) * job.kvHeads + head) * L.headDim, nullptr, 0};
}

template <PageLayout L>
__device__ __forceinline__ __half elementOf(const Row& row, int channel) {
  if (row.halves != nullptr) return row.halves[channel];
  const int bit = L.codeBit(row.slot, channel);
  const int code = row.piece[bit / 8] >> (bit % 8) & ((1 << L.bits) - 1);
  const int group = (L.along == Along::TOKENS ? row.slot : channel) / L.groupSize;
  const int entry = L.parameterPlace(group, L.along == Along::TOKENS ? channel : row.slot);
  const float scale = __half2float(reinterpret_cast<const __half*>(row.piece + L.scaleByte())[entry]);
  const float zero =
      L.hasZero ? __half2float(reinterpret_cast<const __half*>(row.piece + L.zeroByte())[entry]) : -scale * (1 << (L.bits - 1));
  return __float2half_rn(fmaf(static_cast<float>(code), scale, zero));
}

__device__ __forceinline__ uint32_t pairOf(__half low, __half high) {
  const __half2 pair = __halves2half2(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}

/// Adds tokens that are on no page, 16 at a time, in f16 with sums in f32.
template <PageLayout K, PageLayout V, int WARPS>
__device__ __forceinline__ void meetRest(Seen<V>& seen, const Queries<K>& queries, const DecodeJob& job, const Item& item, int head,
                                         int oldest, int warp, int lane) {
  const int g = lane / 4, t = lane % 4;
  const RestEntry* table = job.restTable + item.firstRest;
#pragma unroll 1
  for (int first = 16 * warp; first < item.rests; first += 16 * WARPS) {
    const auto entryOf = [&](int token) { return table[min(first + token, item.rests - 1)]; };
    const RestEntry upper = entryOf(g), lower = entryOf(g + 8);
    const Row keys[2] = {rowOf<K>(job, upper.key, head), rowOf<K>(job, lower.key, head)};
    float sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int half = 0; half < K.halves(); half++) {
      uint32_t a[4];
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const int channel = 16 * half + 4 * t + i / 2 * 2;
        a[i] = pairOf(elementOf<K>(keys[i % 2], channel), elementOf<K>(keys[i % 2], channel + 1));
      }
      multiplyHalves(sums, a, queries.parts[half][0], queries.parts[half][1]);
    }
    float logits[2] = {sums[0] + sums[1], sums[2] + sums[3]};
    if (job.softCap > 0.0f) capLogits(logits, job.softCap);
    if (first + g >= item.rests || upper.position <= oldest) logits[0] = -INFINITY;
    if (first + g + 8 >= item.rests || lower.position <= oldest) logits[1] = -INFINITY;
    const float largest = maxOfRows(fmaxf(logits[0], logits[1]));
    if (largest == -INFINITY) continue;
    const float raised = fmaxf(seen.largest, largest);
    const float kept = exp2Fast(seen.largest - raised);
    seen.largest = raised;
    const float weights[2] = {exp2Fast(logits[0] - raised), exp2Fast(logits[1] - raised)};
    seen.sum = fmaf(seen.sum, kept, weights[0] + weights[1]);
#pragma unroll
    for (float& zeros : seen.zeros) zeros *= kept;
    uint32_t b[2];
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const __half high = __float2half_rn(weights[i]);
      b[i] = transposed(pairOf(high, __float2half_rn(weights[i] - __half2float(high))));
    }
    Row values[4];
#pragma unroll
    for (int i = 0; i < 4; i++) values[i] = rowOf<V>(job, entryOf(2 * t + i % 2 + i / 2 * 8).value, head);
#pragma unroll
    for (int tile = 0; tile < V.headDim / 16; tile++) {
      uint32_t a[4];
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const int channel = 16 * tile + 8 * (i % 2) + g;
        a[i] = pairOf(elementOf<V>(values[i / 2 * 2], channel), elementOf<V>(values[i / 2 * 2 + 1], channel));
      }
      float out[4] = {0.0f, 0.0f, 0.0f, 0.0f};
      multiplyHalves(out, a, b[0], b[1]);
      seen.output[2 * tile] = fmaf(seen.output[2 * tile], kept, out[0] + out[1]);
      seen.output[2 * tile + 1] = fmaf(seen.output[2 * tile + 1], kept, out[2] + out[3]);
    }
  }
}

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
  __device__ __forceinline__ int position(int turn) const { return __shfl_sync(ALL, held.z, turn % LANES); }
  __device__ __forceinline__ int slots(int turn) const { return __shfl_sync(ALL, held.w, turn % LANES); }
};

/// Two channels of what several have seen of one query head.
struct Joined {
  float largest;
  float sum;
  float2 output;

  __device__ __forceinline__ float2 normalized() const {
    const float inverse = sum > 0.0f ? 1.0f / sum : 0.0f;
    return make_float2(output.x * inverse, output.y * inverse);
  }

  __device__ __forceinline__ float logSumExp() const {
    return sum > 0.0f ? (largest + log2f(sum)) * 0.69314718f : -INFINITY;
  }
};

/// `load` gives outputs; BATCH of them are on their way together.
template <int BATCH, class Load>
__device__ __forceinline__ Joined join(const float* largests, const float* sums, int stride, int count, Load load) {
  Joined joined = {-INFINITY, 0.0f, make_float2(0.0f, 0.0f)};
  for (int i = 0; i < count; i++) joined.largest = fmaxf(joined.largest, largests[i * stride]);
  if (joined.largest == -INFINITY) return joined;
  for (int start = 0; start < count; start += BATCH) {
    float2 outputs[BATCH];
#pragma unroll
    for (int i = 0; i < BATCH; i++)
      if (start + i < count) outputs[i] = load(start + i);
#pragma unroll
    for (int i = 0; i < BATCH; i++) {
      if (start + i >= count) continue;
      const float share = exp2Fast(largests[(start + i) * stride] - joined.largest);
      joined.sum = fmaf(sums[(start + i) * stride], share, joined.sum);
      joined.output.x = fmaf(outputs[i].x, share, joined.output.x);
      joined.output.y = fmaf(outputs[i].y, share, joined.output.y);
    }
  }
  return joined;
}

/// The body of a kernel. Grid: (items, kv heads); 32 WARPS threads; SHARED_BYTES of dynamic shared memory.
template <PageLayout K, PageLayout V, int GROUP, int WARPS, int STAGES>
__device__ __forceinline__ void decode(const DecodeJob& job) {
  using D = Decode<K, V, GROUP, WARPS, STAGES>;
  extern __shared__ __align__(128) uint8_t shared[];
  if (static_cast<int>(blockIdx.x) >= __ldg(job.items)) return;
  const int lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
  const int head = blockIdx.y;
  const Item item = job.itemTable[blockIdx.x];

  uint8_t* ring = shared + warp * D::STAGES * D::STAGE_BYTES;
  const uint32_t ringAddress = sharedAddress(ring);
  const uint32_t barriers = sharedAddress(shared + D::RING_BYTES) + warp * D::STAGES * 16;
  HeldEntries entries = {job.pageTable + item.firstPage, warp, item.pages, D::WARPS, {}};
  const int turns = (item.pages - warp + D::WARPS - 1) / D::WARPS;
  const auto fetchKey = [&](int turn) {
    const size_t piece = static_cast<size_t>(entries.key(turn)) * job.kvHeads + head;
    const int stage = turn % D::STAGES;
    if (lane == 0) copyBulk(ringAddress + stage * D::STAGE_BYTES, job.keys + piece * K.bytes(), K.bytes(), barriers + 16 * stage);
  };
  const auto fetchValue = [&](int turn) {
    const size_t piece = static_cast<size_t>(entries.value(turn)) * job.kvHeads + head;
    const int stage = turn % D::STAGES;
    if (lane == 0)
      copyBulk(ringAddress + stage * D::STAGE_BYTES + K.bytes(), job.values + piece * V.bytes(), V.bytes(), barriers + 16 * stage + 8);
  };
  entries.hold(0, lane);
  if (lane == 0) {
    for (int i = 0; i < 2 * D::STAGES; i++) initBarrier(barriers + 8 * i, 1);
    publishBarriers();
  }
  __syncwarp();
  for (int turn = 0; turn < D::STAGES && turn < turns; turn++) fetchKey(turn), fetchValue(turn);

  const size_t row = static_cast<size_t>(item.sequence) * job.kvHeads + head;
  Queries<K> queries;
  const int prepared = lane / 8;
  queries.load(job.queries + (row * GROUP + prepared) * K.headDim, job.scale, lane,
               prepared < GROUP);
  Seen<V> seen;
  seen.largest = -INFINITY;
  seen.sum = 0.0f;
#pragma unroll
  for (float& zeros : seen.zeros) zeros = 0.0f;
#pragma unroll
  for (int i = 0; i < D::CHANNEL_ROWS; i++) seen.output[i] = 0.0f;

  // The youngest position that the query does not see.
  const int oldest = job.slidingWindow > 0 ? item.position - job.slidingWindow : -1;
  meetRest<K, V, WARPS>(seen, queries, job, item, head, oldest, warp, lane);
  using Keys = std::conditional_t<K.along == Along::TOKENS, FoldedKeys<K>, GroupedKeys<K>>;
  Keys keys(queries, lane);
  for (int turn = 0; turn < turns; turn++) {
    const int stage = turn % D::STAGES;
    const uint32_t phase = turn / D::STAGES % 2;
    const int later = turn + D::STAGES;
    const uint8_t* keyPage = ring + stage * D::STAGE_BYTES;
    float logits[D::TOKEN_ROWS];
    waitBarrier(barriers + 16 * stage, phase);
    const int slots = entries.slots(turn), position = entries.position(turn);
    keys.meet(logits, keyPage, lane);
    __syncwarp();
    if (later < turns) fetchKey(later);
    if (job.softCap > 0.0f) capLogits(logits, job.softCap);
    if (slots != PAGE_TOKENS << 16 || position <= oldest) {
      const int first = slots & 0xffff, count = slots >> 16;
#pragma unroll
      for (int i = 0; i < D::TOKEN_ROWS; i++) {
        const int number = 8 * i + lane / 4 - first;
        if (number < 0 || number >= count || position + number <= oldest) logits[i] = -INFINITY;
      }
    }
    waitBarrier(barriers + 16 * stage + 8, phase);
    if constexpr (V.along == Along::TOKENS) meetGroupedValues<V>(seen, logits, keyPage + K.bytes(), lane);
    else meetFoldedValues<V>(seen, logits, keyPage + K.bytes(), lane);
    __syncwarp();
    if (later < turns) fetchValue(later);
    if (later % LANES == LANES - 1) entries.hold(later + 1, lane);
  }

  seen.sum = sumOfRows(seen.sum);
#pragma unroll
  for (float& zeros : seen.zeros) zeros = sumOfRows(zeros);
  __syncthreads();
  float* outputs = reinterpret_cast<float*>(shared);             // [warp][query head][channel]
  float* largests = outputs + D::WARPS * GROUP * D::DIM;         // [warp][query head]
  float* sums = largests + D::WARPS * GROUP;
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
