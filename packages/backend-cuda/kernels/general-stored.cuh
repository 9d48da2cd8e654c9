// Parameters as they are stored, of any type: core's docs/law.md, section 2.
#pragma once
#include "general-tensor.cuh"
#include "quantize.cuh"

namespace lowbit {

LOWBIT_INLINE float quotientOf(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fdiv_rn(a, b);
#else
  return a / b;
#endif
}

/// Never part of a fused multiply-add.
LOWBIT_INLINE double productOf(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __dmul_rn(a, b);
#else
  return a * b;
#endif
}

/// floor(log2 |value|) of what is not 0, from its bits; 128 for an infinite one.
LOWBIT_INLINE int exponentOf(float value) {
  const uint32_t magnitude = bitsOf(value) & 0x7fffffff;
  if (magnitude >= 0x00800000) return static_cast<int>(magnitude >> 23) - 127;
  // A subnormal number becomes a normal one 2^23 times as large.
  return static_cast<int>(bitsOf(productOf(floatOf(magnitude), 0x1p23f)) >> 23) - 127 - 23;
}

LOWBIT_INLINE uint32_t storedFloatScale(float value) {
  constexpr uint32_t SMALLEST = 0x00800000, LARGEST = 0x7f7fffff;
  const uint32_t bits = bitsOf(value);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude == 0) return 0;
  return (bits & 0x80000000) | (magnitude < SMALLEST ? SMALLEST : magnitude > LARGEST ? LARGEST : magnitude);
}

LOWBIT_INLINE uint32_t storedFloatOffset(float value) {
  constexpr uint32_t LARGEST = 0x7f7fffff;
  const uint32_t bits = bitsOf(value);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude == 0) return 0;
  return (bits & 0x80000000) | (magnitude > LARGEST ? LARGEST : magnitude);
}

/// Nearest E4M3 of a number of at least 0, ties to even; saturates, and what is not 0 stays at least 2^-9.
LOWBIT_INLINE uint32_t storedE4m3Scale(double value) {
  if (value == 0.0) return 0;
  if (value >= 448.0) return 0x7e;
  if (value <= 0x1p-9) return 1;
  const int found = exponentOf(static_cast<float>(value));
  const int exponent = found < -6 ? -6 : found;
  // In units of the last place, a value has 8 to 15 of them, a subnormal one 1 to 7: a carry moves into the exponent.
  const double scaled = productOf(value, static_cast<double>(floatOf(static_cast<uint32_t>(3 - exponent + 127) << 23)));
  const auto units = static_cast<uint32_t>(scaled);
  const double rest = scaled - units;
  const bool up = rest > 0.5 || (rest == 0.5 && (units & 1) != 0);
  return static_cast<uint32_t>(exponent + 6) * 8 + units + (up ? 1 : 0);
}

LOWBIT_INLINE uint32_t storedPower(int exponent) {
  const int bits = exponent + 127;
  return static_cast<uint32_t>(bits < 1 ? 1 : bits > 254 ? 254 : bits);
}

/// f16 bits nearest to a number that is not negative, from bits near it. `above` and `below` say whether the middle between two
/// neighbours is above the number, and below it.
template <typename Above, typename Below>
LOWBIT_INLINE uint32_t settledHalf(uint32_t bits, Above above, Below below) {
  const auto middle = [](uint32_t upper) {
    return 0.5 * (static_cast<double>(halfValue(upper)) + static_cast<double>(halfValue(upper - 1)));
  };
  while (bits > 0 && above(middle(bits))) --bits;
  while (bits < HALF_LARGEST && below(middle(bits + 1))) ++bits;
  return bits;
}

/// Bits of the scale of a group with this largest magnitude, range, or negated extreme element; `step` is one over the level of
/// the largest code.
LOWBIT_INLINE uint32_t scaleOfExtent(const GeneralTensor& tensor, float extent, float step) {
  switch (tensor.scaleType) {
    case StoredType::F16:
      return storedScale(productOf(extent, step));
    case StoredType::F32:
      return storedFloatScale(productOf(extent, step));
    case StoredType::E4M3:
      return storedE4m3Scale(productOf(extent, step));
    case StoredType::E8M0:
      return extent == 0.0f ? 0 : storedPower(exponentOf(extent) - tensor.topExponent);
    default:
      return 0;
  }
}

/// Bits of the scale that is the root of a mean of squares.
LOWBIT_INLINE uint32_t scaleOfMeanSquare(const GeneralTensor& tensor, float square) {
  if (tensor.scaleType == StoredType::E8M0) return square == 0.0f ? 0 : storedPower(exponentOf(square) >> 1);
  const double root = std::sqrt(static_cast<double>(square));
  switch (tensor.scaleType) {
    case StoredType::F16: {
      const auto above = [&](double middle) { return productOf(middle, middle) > static_cast<double>(square); };
      const auto below = [&](double middle) { return productOf(middle, middle) < static_cast<double>(square); };
      return storedScale(halfValue(settledHalf(halfBits(static_cast<float>(root)), above, below)));
    }
    case StoredType::F32:
      return storedFloatScale(static_cast<float>(root));
    default:
      return storedE4m3Scale(root);
  }
}

LOWBIT_INLINE uint32_t offsetOf(const GeneralTensor& tensor, float value) {
  return tensor.zeroType == StoredType::F32 ? storedFloatOffset(value) : storedOffset(value);
}

LOWBIT_INLINE void store(unsigned char* plane, StoredType type, uint32_t entry, uint32_t bits) {
  switch (type) {
    case StoredType::NONE:
      return;
    case StoredType::F16:
      reinterpret_cast<uint16_t*>(plane)[entry] = static_cast<uint16_t>(bits);
      return;
    case StoredType::F32:
      reinterpret_cast<uint32_t*>(plane)[entry] = bits;
      return;
    default:
      plane[entry] = static_cast<unsigned char>(bits);
  }
}

/// The integer nearest to numerator / scale, ties to even, between two codes; 0 for NaN and for a scale of 0. `scale` >= 0.
LOWBIT_INLINE int nearestCode(float numerator, float scale, int lowest, int highest) {
  if (numerator != numerator || scale == 0.0f) return 0;
  float guess = quotientOf(numerator, scale);
  guess = guess < lowest ? static_cast<float>(lowest) : guess > highest ? static_cast<float>(highest) : guess;
  guess = differenceOf(sumOf(guess, ROUNDER), ROUNDER);
  // Exact but for the last rounding, which cannot pass half a scale.
  const float error = fusedOf(-guess, scale, numerator);
  const float half = productOf(0.5f, scale);
  const bool odd = (static_cast<int>(guess) & 1) != 0;
  if (error > half || (error == half && odd)) guess = sumOf(guess, 1.0f);
  if (error < -half || (error == -half && odd)) guess = sumOf(guess, -1.0f);
  const int code = static_cast<int>(guess);
  return code < lowest ? lowest : code > highest ? highest : code;
}

/// An f32 sum over the tree that adds neighbours (0 and 1, 2 and 3, ...) level by level; an odd last term moves up unchanged.
class PairwiseSum {
 public:
  LOWBIT_INLINE void add(float term) {
    uint32_t level = 0;
    LOWBIT_ROLLED
    for (; (terms_ >> level & 1) != 0; ++level) term = sumOf(sums_[level], term);
    sums_[level] = term;
    ++terms_;
  }

  LOWBIT_INLINE float total() const {
    float sum = 0.0f;
    bool some = false;
    LOWBIT_ROLLED
    for (uint32_t level = 0; level < LEVELS && terms_ >> level != 0; ++level) {
      if ((terms_ >> level & 1) == 0) continue;
      sum = some ? sumOf(sums_[level], sum) : sums_[level];
      some = true;
    }
    return sum;
  }

 private:
  static constexpr uint32_t LEVELS = 32;
  /// Complete subtrees of 2^level terms that have no neighbour yet.
  float sums_[LEVELS];
  uint32_t terms_ = 0;
};

}  // namespace lowbit
