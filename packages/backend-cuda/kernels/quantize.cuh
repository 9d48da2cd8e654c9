// What becomes of a group: its parameters, and the code of an element. The arithmetic of core's docs/law.md, sections 2 to 5.
//
// Codes come without a division. With scale s, up and down lie just above and below 1 / s. Where d up and d down round to one
// integer, d / s rounds to it. Where they do not (the quotient is a tie, or next to one) products are compared.
#pragma once

#include "halves.cuh"

namespace lowbit {

enum class Mode { ASYMMETRIC, SYMMETRIC, HYBRID };
enum class CodeSet { SIGNMAG, FULL, FULL_SIGNED };

/// How a tensor is quantized. `codes` counts in symmetric and hybrid groups, the rest in hybrid ones.
struct Quantizer {
  Mode mode;
  CodeSet codes;
  int asymmetricBits;
  bool tieAsymmetric;
};

/// 1.5 2^23. The sum with a number is rounded to an integer, which is in its low bits then.
constexpr float ROUNDER = 12582912.0f;
constexpr uint32_t ROUNDER_BITS = 0x4b400000;

/// f16 bits as they are stored.
struct Parameters {
  uint32_t scale;
  uint32_t zero;
};

/// How elements of a group become codes. A scale of 0 has `up` and `down` 0.
struct alignas(16) Step {
  /// What is subtracted; of fullSigned the factor 1 or -1.
  float origin;
  float up;
  float down;
  /// Of hybrid groups below zero (or -0) where they are asymmetric. Else not below zero.
  float scale;
};

/// Minimum and maximum of the members of a group; of none, the minimum is the larger one.
struct Range {
  float low;
  float high;
};

LOWBIT_INLINE uint32_t storedScale(float value) {
  const uint32_t bits = halfBits(value);
  const uint32_t magnitude = bits & HALF_MAGNITUDE;
  if (magnitude == 0) return 0;
  const uint32_t raised = magnitude < HALF_SMALLEST_NORMAL ? HALF_SMALLEST_NORMAL : magnitude;
  return (bits & HALF_SIGN) | (raised > HALF_LARGEST ? HALF_LARGEST : raised);
}

LOWBIT_INLINE uint32_t storedOffset(float value) {
  const uint32_t bits = halfBits(value);
  const uint32_t magnitude = bits & HALF_MAGNITUDE;
  if (magnitude == 0) return 0;
  return (bits & HALF_SIGN) | (magnitude > HALF_LARGEST ? HALF_LARGEST : magnitude);
}

/// Within two units in the last place.
LOWBIT_INLINE float nearReciprocal(float value) {
#if defined(__CUDA_ARCH__)
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(value));
  return result;
#else
  return 1.0f / value;
#endif
}

/// Of a scale that is not below zero; its sign is put on afterwards.
LOWBIT_INLINE Step stepOf(float origin, float scale) {
  constexpr uint32_t SLACK = 4;
  const uint32_t reciprocal = bitsOf(nearReciprocal(scale));
  const bool some = scale != 0.0f;
  return Step{origin, some ? floatOf(reciprocal + SLACK) : 0.0f, some ? floatOf(reciprocal - SLACK) : 0.0f, scale};
}

/// BITS of the codes, Q of a tensor. Codes are stored `bias` larger, so that none is below zero.
template <int BITS, typename Q>
struct CodeRule {
  static constexpr Quantizer QUANTIZER = Q::QUANTIZER;
  static constexpr Mode MODE = QUANTIZER.mode;
  static constexpr CodeSet CODES = QUANTIZER.codes;
  static constexpr bool HAS_ZERO = MODE != Mode::SYMMETRIC;
  static constexpr bool SIGNED_SCALE = MODE == Mode::SYMMETRIC && CODES == CodeSet::FULL_SIGNED;
  static constexpr int HALF = 1 << (BITS - 1);
  static constexpr int TOP = (1 << (MODE == Mode::HYBRID ? QUANTIZER.asymmetricBits : BITS)) - 1;
  static constexpr int LOWEST = CODES == CodeSet::SIGNMAG ? 1 - HALF : -HALF;
  static constexpr int HIGHEST = HALF - 1;
  /// Magnitude of the code that the largest magnitude gets.
  static constexpr int EXTENT = CODES == CodeSet::SIGNMAG ? HIGHEST : HALF;
  /// Whether finite elements can be too large for the codes. None is too small.
  static constexpr bool LIMITED = MODE == Mode::HYBRID || (MODE == Mode::SYMMETRIC && CODES != CodeSet::SIGNMAG);

  static LOWBIT_INLINE bool isAsymmetric(const Step& step) {
    return MODE == Mode::ASYMMETRIC || (MODE == Mode::HYBRID && (bitsOf(step.scale) & 0x80000000) != 0);
  }
  static LOWBIT_INLINE int biasOf(bool asymmetric) { return asymmetric ? 0 : HALF; }

  static LOWBIT_INLINE Parameters overMinimum(Range range) {
    const bool some = range.low <= range.high;
    const uint32_t zero = storedOffset(some ? range.low : 0.0f);
    const float width = differenceOf(some ? range.high : 0.0f, halfValue(zero));
    return Parameters{storedScale(productOf(width < 0.0f ? 0.0f : width, 1.0f / TOP)), zero};
  }

  /// `extreme`: the largest magnitude; of fullSigned, the first element that has it.
  static LOWBIT_INLINE Parameters aroundZero(float extreme) {
    const float extent = SIGNED_SCALE ? -extreme : extreme;
    return Parameters{storedScale(productOf(extent, 1.0f / EXTENT)), 0};
  }

  static LOWBIT_INLINE Step stepOverMinimum(Parameters parameters) {
    Step step = stepOf(halfValue(parameters.zero), halfValue(parameters.scale));
    if (MODE == Mode::HYBRID) step.scale = -step.scale;
    return step;
  }

  static LOWBIT_INLINE Step stepAroundZero(Parameters parameters) {
    const float sign = SIGNED_SCALE && (parameters.scale & HALF_SIGN) != 0 ? -1.0f : 1.0f;
    const float origin = SIGNED_SCALE ? sign : 0.0f;
    return stepOf(origin, halfValue(parameters.scale & HALF_MAGNITUDE));
  }

  /// What a code stands for, before the scale: d of d / s.
  static LOWBIT_INLINE float numeratorOf(float value, const Step& step) {
    if (MODE == Mode::SYMMETRIC) return SIGNED_SCALE ? productOf(value, step.origin) : value;
    return differenceOf(value, step.origin);
  }

  /// The largest numerator that has to be told from others.
  static LOWBIT_INLINE float limitOf(const Step& step) {
    return MODE == Mode::HYBRID ? std::fabs(step.scale) * (isAsymmetric(step) ? TOP : HIGHEST) : step.scale * HIGHEST;
  }

  /// The code of any element, NaN and infinite ones too, without its bias.
  static LOWBIT_INLINE int codeOf(float value, const Step& step) {
    const bool asymmetric = isAsymmetric(step);
    const float lowest = asymmetric ? 0.0f : LOWEST;
    const float highest = asymmetric ? TOP : HIGHEST;
    const float scale = std::fabs(step.scale);
    const float numerator = numeratorOf(value, step);
    if (numerator != numerator || scale == 0.0f) return 0;
    float guess = productOf(numerator, step.up);
    guess = guess < lowest ? lowest : guess > highest ? highest : guess;
    guess = differenceOf(sumOf(guess, ROUNDER), ROUNDER);
    // Exact but for the last rounding, which cannot pass half a scale.
    const float error = fusedOf(-guess, scale, numerator);
    const float half = 0.5f * scale;
    const bool odd = (static_cast<int>(guess) & 1) != 0;
    if (error > half || (error == half && odd)) guess += 1.0f;
    if (error < -half || (error == -half && odd)) guess -= 1.0f;
    return static_cast<int>(guess < lowest ? lowest : guess > highest ? highest : guess);
  }
};

/// An f32 sum over the tree that adds neighbours level by level, four terms at a time; 2^LEVELS fours.
template <int LEVELS>
struct Tree {
  /// Subtrees that are complete and have no neighbour yet; level n holds 2^n fours.
  float sums[LEVELS + 1] = {};
  uint32_t fours = 0;

  LOWBIT_INLINE void add(const float (&terms)[4]) {
    float sum = sumOf(sumOf(terms[0], terms[1]), sumOf(terms[2], terms[3]));
    bool carries = true;
    LOWBIT_UNROLL
    for (int level = 0; level <= LEVELS; ++level) {
      const bool neighbour = (fours >> level & 1) != 0;
      const float joined = sumOf(sums[level], sum);
      if (carries && !neighbour) sums[level] = sum;
      carries = carries && neighbour;
      if (carries) sum = joined;
    }
    fours += 1;
  }

  LOWBIT_INLINE float total() const { return sums[LEVELS]; }
};

}  // namespace lowbit
