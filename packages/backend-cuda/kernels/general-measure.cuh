// Statistics that transforms take from a sequence: core's docs/law.md, section 7. A CTA takes a head of a statistics page; rows are
// in the scratch, transforms before the measured one have been applied to them.
#pragma once
#include "general-outliers.cuh"

namespace lowbit {

constexpr uint32_t HALF_ONE = 0x3c00;

LOWBIT_INLINE bool isFinite(float value) { return (bitsOf(value) & 0x7fffffff) < 0x7f800000; }

/// f16 bits nearest to 1 / sqrt(maximum).
LOWBIT_INLINE uint32_t reciprocalRoot(double maximum) {
  const auto square = [&](double middle) { return productOf(productOf(middle, middle), maximum); };
  const uint32_t start = halfBits(static_cast<float>(1.0 / std::sqrt(maximum)));
  return settledHalf(start, [&](double middle) { return square(middle) > 1.0; }, [&](double middle) { return square(middle) < 1.0; });
}

/// f16 bits nearest to `wanted` over a largest magnitude, saturated to normal numbers; 1 when that is 0.
LOWBIT_INLINE uint32_t tensorReciprocal(float wanted, float maximum) {
  if (maximum == 0.0f) return HALF_ONE;
  const double quotient = static_cast<double>(wanted) / static_cast<double>(maximum);
  if (quotient <= 0x1p-14) return HALF_SMALLEST_NORMAL;
  if (quotient >= 65504.0) return HALF_LARGEST;
  const auto product = [&](double middle) { return productOf(middle, static_cast<double>(maximum)); };
  return settledHalf(
    halfBits(static_cast<float>(quotient)), [&](double middle) { return product(middle) > static_cast<double>(wanted); },
    [&](double middle) { return product(middle) < static_cast<double>(wanted); }
  );
}

struct Measure {
  const GeneralJob& job;
  ScratchRows rows;
  uint32_t tokens;
  uint32_t head;
  GeneralTransform transform;
  /// Of the head, in the plane of the transform.
  uint16_t* target;

  LOWBIT_INLINE float largestOf(uint32_t ofHead, uint32_t channel) const {
    float largest = 0.0f;
    LOWBIT_ROLLED
    for (uint32_t token = 0; token < tokens; ++token) {
      const float magnitude = std::fabs(rows.at(ofHead, token, channel));
      if (magnitude > largest && isFinite(magnitude)) largest = magnitude;
    }
    return largest;
  }

  template <typename Term>
  LOWBIT_INLINE float average(uint32_t channel, Term term) const {
    PairwiseSum sum;
    LOWBIT_ROLLED
    for (uint32_t token = 0; token < tokens; ++token) {
      const float value = term(rows.at(head, token, channel));
      sum.add(isFinite(value) ? value : 0.0f);
    }
    return productOf(sum.total(), quotientOf(1.0f, static_cast<float>(tokens)));
  }

  LOWBIT_INLINE uint32_t meanOf(uint32_t channel) const {
    const uint32_t bits = storedOffset(average(channel, [](float value) { return value; }));
    if (transform.limit == 0.0f) return bits;
    const float mean = halfValue(bits);
    const float deviation = average(channel, [&](float value) { return std::fabs(differenceOf(value, mean)); });
    return std::fabs(mean) >= productOf(transform.limit, deviation) ? bits : 0;
  }

  LOWBIT_INLINE uint32_t reciprocalOf(uint32_t channel) const {
    const float maximum = largestOf(head, channel);
    if (maximum == 0.0f) return HALF_ONE;
    const double raised = maximum < transform.lowest ? transform.lowest : maximum;
    return reciprocalRoot(raised > transform.highest ? transform.highest : raised);
  }

  LOWBIT_INLINE void measureChannels() const {
    inAllThreads<GENERAL_THREADS>([&](uint32_t thread) {
      LOWBIT_ROLLED
      for (uint32_t channel = thread; channel < job.tensor.headDim; channel += GENERAL_THREADS) {
        const bool isMean = transform.rule == MeasureRule::CHANNEL_MEAN;
        target[channel] = static_cast<uint16_t>(isMean ? meanOf(channel) : reciprocalOf(channel));
      }
    });
  }

  /// Where factors of a head hardly differ, all of them are 1.
  LOWBIT_INLINE void levelFactors(GeneralShared& shared) const {
    const uint32_t dim = job.tensor.headDim;
    inAllThreads<GENERAL_THREADS>([&](uint32_t thread) {
      LOWBIT_ROLLED
      for (uint32_t channel = thread; channel < dim; channel += GENERAL_THREADS) {
        const uint32_t own = target[channel];
        uint32_t place = 0;
        LOWBIT_ROLLED
        for (uint32_t other = 0; other < dim; ++other) {
          place += target[other] < own || (target[other] == own && other < channel) ? 1 : 0;
        }
        if (place == 0) shared.smallest = own;
        if (place == dim / 2) shared.median = own;
      }
    });
    const float threshold = productOf(halfValue(shared.smallest), transform.limit);
    if (!(halfValue(shared.median) < threshold)) return;
    inAllThreads<GENERAL_THREADS>([&](uint32_t thread) {
      for (uint32_t channel = thread; channel < dim; channel += GENERAL_THREADS) target[channel] = HALF_ONE;
    });
  }

  /// Every head measures all of them.
  LOWBIT_INLINE void measureTensor(GeneralShared& shared) const {
    const GeneralTensor& tensor = job.tensor;
    inAllThreads<GENERAL_THREADS>([&](uint32_t thread) {
      float largest = 0.0f;
      for (uint32_t i = thread; i < tensor.heads * tensor.headDim; i += GENERAL_THREADS) {
        const float found = largestOf(i / tensor.headDim, i % tensor.headDim);
        if (found > largest) largest = found;
      }
      shared.parts[0][thread] = bitsOf(largest);
    });
    inAllThreads<GENERAL_THREADS>([&](uint32_t thread) {
      float largest = 0.0f;
      for (uint32_t bits : shared.parts[0])
        if (floatOf(bits) > largest) largest = floatOf(bits);
      const uint32_t reciprocal = tensorReciprocal(transform.limit, largest);
      for (uint32_t channel = thread; channel < tensor.headDim; channel += GENERAL_THREADS) target[channel] = static_cast<uint16_t>(reciprocal);
    });
  }
};

/// Grid: (heads, packs). Measures transform `job.transforms`.
LOWBIT_INLINE void measureHead(const GeneralJob& job, GeneralShared& shared, uint32_t head, uint32_t number) {
  const GeneralTensor& tensor = job.tensor;
  const Pack pack(job.commands, job.firstPack + number, 0);
  const GeneralTransform transform = transformOf(tensor, job.transforms);
  auto* page = reinterpret_cast<uint16_t*>(const_cast<unsigned char*>(statisticsOf(job, job.firstPack + number)));
  const uint64_t first = (static_cast<uint64_t>(transform.plane) * tensor.heads + head) * tensor.headDim;
  const Measure measure{job, ScratchRows{job, number}, pack.count, head, transform, page + first};
  if (transform.rule == MeasureRule::TENSOR_SCALE) {
    measure.measureTensor(shared);
    return;
  }
  measure.measureChannels();
  if (transform.rule == MeasureRule::CHANNEL_SCALE) measure.levelFactors(shared);
}

}  // namespace lowbit
