// Sums of packed values, and the softmax that runs along.
#pragma once
#include "codes.cuh"

namespace lowbit {

/// What a warp has seen of one head, lane % 4 of its queries: relative to the largest logit. Sums of lanes are parts.
template <PageLayout V>
struct Seen {
  float largest;
  float sum;
  /// Of groups along channels.
  float zeros[V.along == Along::CHANNELS ? V.groups() : 1];
  /// Channel 8 i + lane / 4.
  float output[V.headDim / 8];

  __device__ __forceinline__ void clear() {
    largest = -INFINITY;
    sum = 0.0f;
#pragma unroll
    for (float& zero : zeros) zero = 0.0f;
#pragma unroll
    for (float& channel : output) channel = 0.0f;
  }
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

/// Sum of the weights of tokens of STEPS steps from `first` on, as they were rounded: high bytes, low bytes.
template <int STEPS>
__device__ __forceinline__ void sumWeights(int (&sum)[4], const uint32_t (&weights)[PAGE_TOKENS / 16], int first) {
  const uint32_t a[4] = {0x01010101u, 0x01010101u, 0x01010101u, 0x01010101u};
#pragma unroll
  for (int i = 0; i < 4; i++) sum[i] = UNSIGNED_ZERO_BITS;
#pragma unroll
  for (int step = first; step < first + STEPS; step++) multiplyUnsigned(sum, a, weights[2 * step], weights[2 * step + 1]);
}

/// Values of a code of two groups, as f16: zero + scale code.
__device__ __forceinline__ uint32_t valuesOf(float code, uint32_t scales, uint32_t zeros) {
  const __half2 values =
    __hfma2(*reinterpret_cast<const __half2*>(&scales), __float2half2_rn(code), *reinterpret_cast<const __half2*>(&zeros));
  return *reinterpret_cast<const uint32_t*>(&values);
}

/// `sum`, and two weights times the values of the middle codes of their groups.
template <int BITS>
__device__ __forceinline__ float addMiddles(float sum, float first, float second, uint32_t scales, uint32_t zeros) {
  constexpr float MIDDLE = static_cast<float>(1 << (BITS - 1));
  // f16 holds 128 scales to a 32nd of one only.
  if constexpr (BITS > 4)
    return fmaf(second, fmaf(highHalf(scales), MIDDLE, highHalf(zeros)), fmaf(first, fmaf(lowHalf(scales), MIDDLE, lowHalf(zeros)), sum));
  const uint32_t middles = valuesOf(MIDDLE, scales, zeros);
  return fmaf(second, highHalf(middles), fmaf(first, lowHalf(middles), sum));
}

/// Values with groups along tokens: weights are rounded as they are, sums of groups are scaled. Codes around zero count from their
/// middle; the others meet zeros with the weights as they were rounded.
template <PageLayout V>
__device__ __forceinline__ void meetGroupedValues(Seen<V>& seen, float (&logits)[PAGE_TOKENS / 8], const uint8_t* page, int lane) {
  using Parameters = RowParameters<V>;
  constexpr int ROWS = Parameters::ROWS;
  constexpr int CHANNEL_ROWS = V.headDim / 8;
  constexpr int GROUP_STEPS = V.groupSize / 32;
  float kept, added;
  if (!weigh<V>(seen, logits, kept, added)) return;
  uint32_t weights[PAGE_TOKENS / 16];
#pragma unroll
  for (int half = 0; half < PAGE_TOKENS / 16; half++)
    weights[half] = weightBytes(fmaf(logits[2 * half], LARGEST_WEIGHT, UNSIGNED_ZERO),
                                fmaf(logits[2 * half + 1], LARGEST_WEIGHT, UNSIGNED_ZERO));
  const float factor = added * (1.0f / LARGEST_WEIGHT);
  float high[V.groups()], low[V.groups()];
#pragma unroll
  for (int group = 0; group < V.groups(); group++) {
    int ones[4];
    sumWeights<GROUP_STEPS>(ones, weights, group * GROUP_STEPS);
    high[group] = __int_as_float(ones[0]) - UNSIGNED_ZERO;
    low[group] = __int_as_float(ones[1]) - UNSIGNED_ZERO;
  }
#pragma unroll
  for (int block = 0; block < CHANNEL_ROWS / ROWS; block++) {
    BlockWords<V> words;
    words.load(page, block, lane);
    float* out = seen.output + block * ROWS;
#pragma unroll
    for (int row = 0; row < ROWS; row++) out[row] *= kept;
#pragma unroll
    for (int group = 0; group < V.groups(); group++) {
      Parameters parameters;
      parameters.load(page + V.scaleByte() + 2 * (group * V.headDim + lane / 4 * CHANNEL_ROWS + block * ROWS));
#pragma unroll
      for (int first = 0; first < ROWS; first += 2) {
        int sum[4] = {UNSIGNED_ZERO_BITS, UNSIGNED_ZERO_BITS, UNSIGNED_ZERO_BITS, UNSIGNED_ZERO_BITS};
#pragma unroll
        for (int step = group * GROUP_STEPS; step < (group + 1) * GROUP_STEPS; step++) {
          uint32_t a[4];
          words.codes(a, first, step);
          multiplyUnsigned(sum, a, weights[2 * step], weights[2 * step + 1]);
        }
#pragma unroll
        for (int row = 0; row < 2; row++) {
          const float exact = rowFactor<V.bits>(first + row);
          const float middle = static_cast<float>(Parameters::MIDDLE) / exact;
          const float h = __int_as_float(sum[2 * row]) - fmaf(high[group], middle, UNSIGNED_ZERO);
          const float l = __int_as_float(sum[2 * row + 1]) - fmaf(low[group], middle, UNSIGNED_ZERO);
          out[first + row] = fmaf(fmaf(h, 256.0f, l), parameters.scales[first + row] * (factor * exact), out[first + row]);
          if constexpr (V.hasZero)
            out[first + row] = fmaf(fmaf(high[group], 256.0f, low[group]), parameters.zeros[first + row] * factor, out[first + row]);
        }
      }
    }
  }
}

/// Values with groups along channels: scales, which have no sign, are folded into the weights. Codes count from their middle.
template <PageLayout V>
__device__ __forceinline__ void meetFoldedValues(Seen<V>& seen, float (&logits)[PAGE_TOKENS / 8], const uint8_t* page, int lane) {
  static_assert(!V.isHybrid, "folded scales have no modes");
  constexpr int TOKEN_ROWS = PAGE_TOKENS / 8;
  constexpr int ROWS = rowsOfBlock(V.bits);
  constexpr int BLOCKS = V.groupSize / (8 * ROWS);
  constexpr float CENTRE = static_cast<float>(1 << (V.bits - 1));
  const int g = lane / 4;
  float kept, added;
  if (!weigh<V>(seen, logits, kept, added)) return;
  // One unit for the page, so that no weight with a scale exceeds LARGEST_WEIGHT.
  const uint8_t* plane = page + V.scaleByte() + 2 * g * TOKEN_ROWS;
  float peak = 0.0f;
#pragma unroll
  for (int v = 0; v < TOKEN_ROWS / 8; v++) {
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
    for (int v = 0; v < TOKEN_ROWS / 8; v++) {
      const uint4 s = reinterpret_cast<const uint4*>(plane + 2 * group * PAGE_TOKENS)[v];
      const uint32_t pairs[4] = {s.x, s.y, s.z, s.w};
      if constexpr (V.hasZero) {
        const uint4 z = reinterpret_cast<const uint4*>(plane + V.zeroByte() - V.scaleByte() + 2 * group * PAGE_TOKENS)[v];
        const uint32_t zeroPairs[4] = {z.x, z.y, z.z, z.w};
#pragma unroll
        for (int j = 0; j < 4; j++) {
          const int i = 8 * v + 2 * j;
          zeros = addMiddles<V.bits>(zeros, logits[i], logits[i + 1], pairs[j], zeroPairs[j]);
        }
      }
#pragma unroll
      for (int j = 0; j < 4; j++) {
        const int i = 8 * v + 2 * j;
        weights[i / 2] = weightBytes(fmaf(logits[i] * unit, lowHalf(pairs[j]), UNSIGNED_ZERO),
                                     fmaf(logits[i + 1] * unit, highHalf(pairs[j]), UNSIGNED_ZERO));
      }
    }
    int ones[4];
    sumWeights<PAGE_TOKENS / 32>(ones, weights, 0);
    const float high = __int_as_float(ones[0]) - UNSIGNED_ZERO;
    const float low = __int_as_float(ones[1]) - UNSIGNED_ZERO;
    if constexpr (V.hasZero) seen.zeros[group] = fmaf(seen.zeros[group], kept, zeros * added);
#pragma unroll
    for (int block = group * BLOCKS; block < (group + 1) * BLOCKS; block++) {
      BlockWords<V> words;
      words.load(page, block, lane);
#pragma unroll
      for (int first = 0; first < ROWS; first += 2) {
        int sum[4] = {UNSIGNED_ZERO_BITS, UNSIGNED_ZERO_BITS, UNSIGNED_ZERO_BITS, UNSIGNED_ZERO_BITS};
#pragma unroll
        for (int step = 0; step < PAGE_TOKENS / 32; step++) {
          uint32_t a[4];
          words.codes(a, first, step);
          multiplyUnsigned(sum, a, weights[2 * step], weights[2 * step + 1]);
        }
#pragma unroll
        for (int row = 0; row < 2; row++) {
          const float exact = rowFactor<V.bits>(first + row);
          const float centre = CENTRE / exact;
          const float h = __int_as_float(sum[2 * row]) - fmaf(high, centre, UNSIGNED_ZERO);
          const float l = __int_as_float(sum[2 * row + 1]) - fmaf(low, centre, UNSIGNED_ZERO);
          float& out = seen.output[block * ROWS + first + row];
          out = fmaf(h, 256.0f * (factor * exact), fmaf(l, factor * exact, out * kept));
        }
      }
    }
  }
}

}  // namespace lowbit
