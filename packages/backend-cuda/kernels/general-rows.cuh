// Transforms in rows of f32 in shared memory: what attention does to queries, and what undoes them in sums of values and in keys.
// core's docs/law.md, section 7. A warp's lanes share a row.
#pragma once
#include "block.cuh"
#include "general-tokens.cuh"

namespace lowbit {

struct TransformedRows {
  const GeneralTensor& tensor;
  /// Page of the sequence; null where it has none.
  const uint16_t* statistics;
  uint32_t head;
  float* rows;
  /// Floats from row to row, also of `scratch`.
  uint32_t stride;
  uint32_t count;
  /// As many rows, for orders of channels; 32 floats for each, for means of queries.
  float* scratch;
  /// Rows of tokens that are not packed stay as they are. Null: all rows change.
  const TokenPlace* places;

  /// Calls back with rows that change and with channels, each from one thread.
  template <typename Visit>
  LOWBIT_INLINE void eachElement(uint32_t channels, uint32_t thread, Visit visit) const {
    for (uint32_t row = thread / 32; row < count; row += ATTEND_WARPS) {
      if (places != nullptr && !places[row].isPacked()) continue;
      for (uint32_t channel = thread % 32; channel < channels; channel += 32) visit(row, channel);
    }
  }

  template <typename Change>
  LOWBIT_INLINE void changeEach(Change change) const {
    inAllThreads<ATTEND_THREADS>([&](uint32_t thread) {
      eachElement(tensor.headDim, thread, [&](uint32_t row, uint32_t channel) {
        float& value = rows[row * stride + channel];
        value = change(value, row, channel);
      });
    });
  }

  LOWBIT_INLINE float number(const GeneralTransform& transform, uint32_t channel) const {
    return transformNumber(tensor, transform, statistics, head, channel, true);
  }

  LOWBIT_INLINE void negate(const GeneralTransform& transform) const {
    changeEach([&](float value, uint32_t, uint32_t channel) {
      return isNegated(tensor, transform, channel) ? -value : value;
    });
  }

  LOWBIT_INLINE void rotate() const {
    for (uint32_t apart = 1; apart < tensor.headDim; apart *= 2) {
      const bool isLast = 2 * apart >= tensor.headDim;
      const float factor = isLast ? tensor.rotationFactor : 1.0f;
      inAllThreads<ATTEND_THREADS>([&](uint32_t thread) {
        eachElement(tensor.headDim / 2, thread, [&](uint32_t row, uint32_t pair) {
          float* first = rows + row * stride + 2 * pair - pair % apart;
          const float a = first[0], b = first[apart];
          first[0] = (a + b) * factor;
          first[apart] = (a - b) * factor;
        });
      });
    }
    if (tensor.headDim == 1)
      changeEach([&](float value, uint32_t, uint32_t) { return value * tensor.rotationFactor; });
  }

  /// Channel c takes channel order(c), or the reverse.
  LOWBIT_INLINE void order(const GeneralTransform& transform, bool reverse) const {
    inAllThreads<ATTEND_THREADS>([&](uint32_t thread) {
      eachElement(tensor.headDim, thread, [&](uint32_t row, uint32_t channel) {
        scratch[row * stride + channel] = rows[row * stride + channel];
      });
    });
    const uint32_t* order = tensor.table + transform.attention + head * tensor.headDim;
    inAllThreads<ATTEND_THREADS>([&](uint32_t thread) {
      eachElement(tensor.headDim, thread, [&](uint32_t row, uint32_t channel) {
        const uint32_t to = reverse ? order[channel] : channel;
        const uint32_t from = reverse ? channel : order[channel];
        rows[row * stride + to] = scratch[row * stride + from];
      });
    });
  }

  /// added[row] += q.m
  LOWBIT_INLINE void addMean(const GeneralTransform& transform, float* added) const {
    inAllThreads<ATTEND_THREADS>([&](uint32_t thread) {
      for (uint32_t row = thread / 32; row < count; row += ATTEND_WARPS) {
        float sum = 0.0f;
        for (uint32_t channel = thread % 32; channel < tensor.headDim; channel += 32)
          sum = fusedOf(rows[row * stride + channel], number(transform, channel), sum);
        scratch[32 * row + thread % 32] = sum;
      }
    });
    inAllThreads<ATTEND_THREADS>([&](uint32_t thread) {
      for (uint32_t row = thread; row < count; row += ATTEND_THREADS) {
        float sum = 0.0f;
        for (uint32_t lane = 0; lane < 32; ++lane) sum += scratch[32 * row + lane];
        added[row] += sum;
      }
    });
  }

  /// Turns queries into what meets packed keys; `added` takes what comes to each dot product.
  LOWBIT_COLD void turnQueries(float* added) const {
    for (uint32_t i = 0; i < tensor.transformCount; ++i) {
      const GeneralTransform transform = transformOf(tensor, i);
      switch (transform.kind) {
        case TransformKind::SCALE:
          changeEach([&](float value, uint32_t, uint32_t channel) { return value * number(transform, channel); });
          break;
        case TransformKind::MEAN:
          addMean(transform, added);
          break;
        case TransformKind::HADAMARD:
          negate(transform);
          rotate();
          break;
        case TransformKind::ORDER:
          order(transform, false);
          break;
      }
    }
  }

  /// Undoes the transforms of sums of transformed rows whose weights add up to `weights[row]`; null: to 1.
  LOWBIT_COLD void undo(const float* weights) const {
    for (uint32_t i = tensor.transformCount; i-- > 0;) {
      const GeneralTransform transform = transformOf(tensor, i);
      switch (transform.kind) {
        case TransformKind::SCALE:
          changeEach([&](float value, uint32_t, uint32_t channel) { return value * number(transform, channel); });
          break;
        case TransformKind::MEAN:
          changeEach([&](float value, uint32_t row, uint32_t channel) {
            return fusedOf(weights == nullptr ? 1.0f : weights[row], number(transform, channel), value);
          });
          break;
        case TransformKind::HADAMARD:
          rotate();
          negate(transform);
          break;
        case TransformKind::ORDER:
          order(transform, true);
          break;
      }
    }
  }
};

/// The cosine and sine of position times frequency, a frequency being turns in units of 2^-64: whole turns vanish in products of
/// integers at any position. Of what is left, 32 bits matter; series within an eighth of a turn of a quarter are exact to the last
/// bit but one of f32.
struct Turn {
  float cosine;
  float sine;

  LOWBIT_INLINE Turn(uint32_t position, uint64_t frequency) {
    const auto turn = static_cast<uint32_t>(position * frequency >> 32);
    const uint32_t quarter = (turn + 0x20000000u) >> 30;
    const float angle = static_cast<float>(static_cast<int32_t>(turn - (quarter << 30))) * 1.4629180792671596e-9f;
    const float square = angle * angle;
    const float s =
      angle + angle * square * (-1.0f / 6 + square * (1.0f / 120 + square * (-1.0f / 5040 + square * (1.0f / 362880))));
    const float c = 1.0f - 0.5f * square +
      square * square * (1.0f / 24 + square * (-1.0f / 720 + square * (1.0f / 40320 - square * (1.0f / 3628800))));
    const bool isSwapped = (quarter & 1) != 0;
    cosine = isSwapped ? s : c;
    sine = isSwapped ? c : s;
    if (((quarter + 1) & 2) != 0) cosine = -cosine;
    if ((quarter & 2) != 0) sine = -sine;
  }
};

/// Turns keys to their positions, in place: the rotary embedding, law.md section 9.
LOWBIT_INLINE void turnKeys(const TransformedRows& keys, const int* positions, uint32_t thread) {
  const GeneralTensor& tensor = keys.tensor;
  const uint32_t pairs = tensor.rotaryPairs;
  const uint32_t* frequencies = tensor.table + tensor.frequencies;
  keys.eachElement(pairs, thread, [&](uint32_t row, uint32_t pair) {
    const uint64_t frequency = frequencies[2 * pair] | static_cast<uint64_t>(frequencies[2 * pair + 1]) << 32;
    const Turn turn(static_cast<uint32_t>(positions[row]), frequency);
    const bool isAdjacent = tensor.rotaryAdjacent != 0;
    float* first = keys.rows + row * keys.stride + (isAdjacent ? 2 * pair : pair);
    float* second = first + (isAdjacent ? 1 : pairs);
    const float a = *first, b = *second;
    *first = a * turn.cosine - b * turn.sine;
    *second = a * turn.sine + b * turn.cosine;
  });
}

}  // namespace lowbit
