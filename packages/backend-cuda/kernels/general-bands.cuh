// Outlier bands: parameters of vectors, codes of five bits, and the bytes of outliers. core's docs/law.md, section 6.
#pragma once
#include "general-tile.cuh"

namespace lowbit {

enum class Band { MIDDLE, OUTER, INNER };

LOWBIT_INLINE Band bandOf(const GeneralTensor& tensor, float value) {
  if (value <= tensor.outerLow || value >= tensor.outerHigh) return Band::OUTER;
  return value > tensor.innerLow && value < tensor.innerHigh ? Band::INNER : Band::MIDDLE;
}

/// How far an outer element is beyond its threshold.
LOWBIT_INLINE float outerMagnitude(const GeneralTensor& tensor, float value) {
  return value >= tensor.outerHigh ? differenceOf(value, tensor.outerHigh) : differenceOf(tensor.outerLow, value);
}

/// A middle element without its threshold.
LOWBIT_INLINE float middleShift(const GeneralTensor& tensor, float value) {
  return differenceOf(value, value >= tensor.innerHigh ? tensor.innerHigh : tensor.innerLow);
}

LOWBIT_INLINE void widen(Range& range, float value) {
  if (value < range.low) range.low = value;
  if (value > range.high) range.high = value;
}

/// f16 bits of the step and of the minimum; zeros of an empty range.
LOWBIT_INLINE Parameters affineParameters(Range range, float step) {
  if (range.low > range.high) return Parameters{0, 0};
  const uint32_t minimum = storedOffset(range.low);
  const float width = differenceOf(range.high, halfValue(minimum));
  return Parameters{storedScale(productOf(width > 0.0f ? width : 0.0f, step)), minimum};
}

struct VectorRanges {
  Range outer;
  Range inner;
  Range middle;
  float middleLargest;
  bool anyLow;
  bool anyHigh;
};

/// Of every `stride`-th element of a run.
LOWBIT_INLINE VectorRanges rangesOf(const GeneralTensor& tensor, const GeneralTile& tile, uint32_t first, uint32_t end, uint32_t stride) {
  const Range empty{INFINITY, -INFINITY};
  VectorRanges ranges{empty, empty, empty, 0.0f, false, false};
  LOWBIT_ROLLED
  for (uint32_t i = first; i < end; i += stride) {
    const float value = tile.at(i);
    switch (bandOf(tensor, value)) {
      case Band::OUTER:
        widen(ranges.outer, outerMagnitude(tensor, value));
        break;
      case Band::INNER:
        widen(ranges.inner, value);
        break;
      default: {
        const float shift = middleShift(tensor, value);
        widen(ranges.middle, shift);
        if (std::fabs(shift) > ranges.middleLargest) ranges.middleLargest = std::fabs(shift);
        if (value >= tensor.innerHigh) ranges.anyHigh = true;
        else ranges.anyLow = true;
      }
    }
  }
  return ranges;
}

LOWBIT_INLINE void widen(Range& range, Range other) {
  if (other.low < range.low) range.low = other.low;
  if (other.high > range.high) range.high = other.high;
}

LOWBIT_INLINE void merge(VectorRanges& ranges, const VectorRanges& other) {
  widen(ranges.outer, other.outer);
  widen(ranges.inner, other.inner);
  widen(ranges.middle, other.middle);
  if (other.middleLargest > ranges.middleLargest) ranges.middleLargest = other.middleLargest;
  ranges.anyLow = ranges.anyLow || other.anyLow;
  ranges.anyHigh = ranges.anyHigh || other.anyHigh;
}

/// Step and minimum of the middle band, so that both sides keep codes of their own.
LOWBIT_INLINE Parameters middleParameters(VectorRanges ranges) {
  if (ranges.middle.low > ranges.middle.high) return Parameters{0, 0};
  if (ranges.anyLow && ranges.middle.low > -0x1p-14f) ranges.middle.low = -0x1p-14f;
  Parameters parameters = affineParameters(ranges.middle, 1.0f / 15);
  // The rounded step may fall short by less than one f16 step. Both numbers are exact.
  const float reach = productOf(15.0f, halfValue(parameters.scale));
  if (ranges.anyHigh && reach < -halfValue(parameters.zero)) parameters.scale += 1;
  return parameters;
}

LOWBIT_INLINE void storeBands(const GeneralTensor& tensor, unsigned char* block, uint32_t slot, const VectorRanges& ranges) {
  const auto put = [&](uint32_t plane, uint32_t bits) { store(block + plane, StoredType::F16, slot, bits); };
  const Parameters outer = affineParameters(ranges.outer, 1.0f / 15);
  const Parameters inner = affineParameters(ranges.inner, 1.0f / 31);
  if (tensor.midRise != 0) {
    put(tensor.middleOffset, storedScale(ranges.middleLargest));
  } else {
    const Parameters middle = middleParameters(ranges);
    put(tensor.middleOffset, middle.zero);
    put(tensor.middleStepOffset, middle.scale);
  }
  put(tensor.outerMinimumOffset, outer.zero);
  put(tensor.outerStepOffset, outer.scale);
  put(tensor.innerMinimumOffset, inner.zero);
  put(tensor.innerStepOffset, inner.scale);
}

/// Memory of a CTA that settles bands.
struct BandsShared {
  VectorRanges parts[GENERAL_THREADS];
};

/// Threads that measure a vector together, at most.
constexpr uint32_t BAND_PARTS = 32;

/// Parameters of all vectors of a tile, to the page.
LOWBIT_INLINE void settleBands(const GeneralJob& job, BandsShared& shared, const GeneralTile& tile, unsigned char* page) {
  const GeneralTensor& tensor = job.tensor;
  const uint32_t size = tile.heads * tile.dim;
  unsigned char* block = page + parameterBase(tensor, tile.firstHead);
  LOWBIT_ROLLED
  for (uint32_t strip = 0; strip < tile.tokens; strip += GENERAL_THREADS) {
    const uint32_t left = tile.tokens - strip;
    const uint32_t vectors = left < GENERAL_THREADS ? left : GENERAL_THREADS;
    const uint32_t room = GENERAL_THREADS / vectors;
    const uint32_t parts = room < BAND_PARTS ? room : BAND_PARTS;
    inAllThreads<GENERAL_THREADS>([&](uint32_t thread) {
      if (thread >= vectors * parts) return;
      const uint32_t first = (strip + thread / parts) * size;
      shared.parts[thread] = rangesOf(tensor, tile, first + thread % parts, first + size, parts);
    });
    inAllThreads<GENERAL_THREADS>([&](uint32_t thread) {
      if (thread >= vectors) return;
      VectorRanges ranges = shared.parts[thread * parts];
      LOWBIT_ROLLED
      for (uint32_t part = 1; part < parts; ++part) merge(ranges, shared.parts[thread * parts + part]);
      storeBands(tensor, block, tile.firstSlot + strip + thread, ranges);
    });
  }
}

/// Stored parameters of a vector. `middle` is the maximum of midRise, else the minimum.
struct BandSteps {
  float middle;
  float middleStep;
  float outerMinimum;
  float outerStep;
  float innerMinimum;
  float innerStep;
  /// Codes of the middle band that decode to its low side.
  int lowCodes;

  LOWBIT_INLINE BandSteps(const GeneralTensor& tensor, const unsigned char* block, uint32_t slot) {
    const auto get = [&](uint32_t plane) { return halfValue(loadStored(block + plane, StoredType::F16, slot)); };
    middle = get(tensor.middleOffset);
    outerMinimum = get(tensor.outerMinimumOffset);
    outerStep = get(tensor.outerStepOffset);
    innerMinimum = get(tensor.innerMinimumOffset);
    innerStep = get(tensor.innerStepOffset);
    middleStep = 0.0f;
    lowCodes = 0;
    if (tensor.midRise != 0) return;
    middleStep = get(tensor.middleStepOffset);
    // Products and numbers are exact.
    while (lowCodes < 16 && productOf(static_cast<float>(lowCodes), middleStep) < -middle) ++lowCodes;
  }
};

LOWBIT_INLINE int middleCode(const GeneralTensor& tensor, const BandSteps& steps, float value) {
  const bool high = value >= tensor.innerHigh;
  const float shift = middleShift(tensor, value);
  if (tensor.midRise != 0) {
    const float magnitude = productOf(8.0f, std::fabs(shift));
    int cell = 0;
    while (steps.middle != 0.0f && cell < 7 && magnitude >= productOf(static_cast<float>(cell + 1), steps.middle)) ++cell;
    return (high ? 0 : 8) | cell;
  }
  const int code = nearestCode(differenceOf(shift, steps.middle), steps.middleStep, 0, 15);
  if (high) return code < steps.lowCodes ? steps.lowCodes : code;
  const int largest = steps.lowCodes > 1 ? steps.lowCodes - 1 : 0;
  return code > largest ? largest : code;
}

/// Four bits of an element, and the fifth of an outlier.
LOWBIT_INLINE int bandCode(const GeneralTensor& tensor, const BandSteps& steps, float value) {
  switch (bandOf(tensor, value)) {
    case Band::OUTER: {
      const float distance = differenceOf(outerMagnitude(tensor, value), steps.outerMinimum);
      return nearestCode(distance, steps.outerStep, 0, 15) | (value >= tensor.outerHigh ? 0 : 16);
    }
    case Band::INNER:
      return nearestCode(differenceOf(value, steps.innerMinimum), steps.innerStep, 0, 31);
    default:
      return middleCode(tensor, steps, value);
  }
}

}  // namespace lowbit
