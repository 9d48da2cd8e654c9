// Any tensor plan as numbers, for kernels that are not compiled for one: where things lie in canonical pages (core's
// docs/block-format.md), and the arithmetic of core's docs/law.md by switches. src/general/tensor-numbers.ts fills it.
//
// Offsets are bytes. A tensor that stays f16 has `bits` 16, and 0 in what speaks of pages and of quantization.
#pragma once
#include "outlier-words.cuh"

namespace lowbit {

enum class GeneralMode : uint32_t { ASYMMETRIC, SYMMETRIC, HYBRID, LEVELS, LEVELS_OVER_ZERO, BANDS, CODEC };
enum class GeneralCodes : uint32_t { SIGNMAG, FULL, FULL_SIGNED };
/// What a level table is scaled by.
enum class LevelScale : uint32_t { NONE, ABSOLUTE_MAXIMUM, ROOT_MEAN_SQUARE };
enum class StoredType : uint32_t { NONE, F16, F32, E4M3, E8M0 };
enum class TransformKind : uint32_t { SCALE, MEAN, HADAMARD, ORDER };
enum class MeasureRule : uint32_t { NONE, TENSOR_SCALE, CHANNEL_SCALE, CHANNEL_MEAN };

/// Of a transform that takes nothing from statistics pages.
constexpr uint32_t NO_PLANE = 0xffffffff;
constexpr uint32_t OUTLIER_CHUNK = 64;

/// One transform: packing applies them in order to f32 rows.
struct GeneralTransform {
  TransformKind kind;
  /// Number of its plane in statistics pages, f16 [plane][head][channel]: factors that packing multiplies with (attention divides
  /// by them in f32), or means. NO_PLANE: numbers are in the table.
  uint32_t plane;
  /// Words of the table, [head][channel]: SCALE f32, MEAN f32, ORDER u32. HADAMARD: bit c % 32 of word c / 32 negates channel c.
  uint32_t packing;
  /// As `packing`, but of SCALE what attention multiplies with.
  uint32_t attention;
  MeasureRule rule;
  /// TENSOR_SCALE: what the largest magnitude becomes. CHANNEL_SCALE: smallest spread. CHANNEL_MEAN: smallest offset.
  float limit;
  /// CHANNEL_SCALE: between these are magnitudes taken.
  double lowest;
  double highest;
};

struct GeneralTensor {
  /// GeneralTransforms first; places of other numbers are words from here. In device memory, at a multiple of 16 bytes.
  const uint32_t* table;
  uint32_t heads;
  uint32_t headDim;
  uint32_t bits;
  uint32_t blockTokens;
  uint32_t pageBytes;
  uint32_t headBytes;
  /// Of a row of codes; a row is a channel (1) or a token (0). With a codec a row is a group, of tokens of a channel (1) or of
  /// channels of a token (0).
  uint32_t rowBytes;
  uint32_t rowsAreChannels;
  uint32_t tokensPerGroup;
  uint32_t channelsPerGroup;
  /// Parameters are of all heads and lie behind the head blocks, offsets count from there.
  uint32_t parametersShared;

  GeneralMode mode;
  /// Of symmetric and hybrid groups.
  GeneralCodes codes;
  /// The largest code of asymmetric groups; of hybrid tensors those of `asymmetricBits`.
  uint32_t largestCode;
  /// Hybrid: at equal errors groups are asymmetric.
  uint32_t tieAsymmetric;
  StoredType scaleType;
  StoredType zeroType;
  uint32_t scaleOffset;
  uint32_t zeroOffset;
  /// f32(1 / T): of ranges, and of largest magnitudes.
  float rangeStep;
  float extentStep;
  /// floor(log2 T) of largest magnitudes.
  int32_t topExponent;
  LevelScale levelScale;
  /// f32 levels, and f32 middles between them, of which there is one less.
  uint32_t levelCount;
  uint32_t levels;
  uint32_t middles;

  /// Outlier bands: planes of f16 by slot. `middleOffset` is of middleMaximum (midRise) or middleMinimum.
  uint32_t midRise;
  uint32_t middleOffset;
  uint32_t middleStepOffset;
  uint32_t outerMinimumOffset;
  uint32_t outerStepOffset;
  uint32_t innerMinimumOffset;
  uint32_t innerStepOffset;
  float outerLow;
  float innerLow;
  float innerHigh;
  float outerHigh;
  /// End offsets of [slot][chunk], 2 or 4 bytes each, and the outliers of a head.
  uint32_t endsOffset;
  uint32_t endBytes;
  uint32_t chunks;
  uint32_t outliersOffset;
  uint32_t capacity;

  /// Top outliers of a slot; 0 where there are none. Channels are 1 or 2 bytes.
  uint32_t topCount;
  uint32_t topValuesOffset;
  uint32_t topChannelsOffset;
  uint32_t topChannelBytes;

  uint32_t transformCount;
  /// f32(1 / sqrt(headDim)).
  float rotationFactor;

  /// Keys before the rotary embedding: pairs that turn (0: keys come turned), whether they are neighbours, and for each pair the
  /// turns of one position in units of 2^-64, whole turns left out: low word, high word.
  uint32_t rotaryPairs;
  uint32_t rotaryAdjacent;
  uint32_t frequencies;
  /// Number of its codec among those of the kernels (general-codec.cuh), from 1 on.
  uint32_t codec;
  /// Of bands.
  OutlierOrder outlierOrder;
};

LOWBIT_INLINE GeneralTransform transformOf(const GeneralTensor& tensor, uint32_t number) {
  return reinterpret_cast<const GeneralTransform*>(tensor.table)[number];
}

LOWBIT_INLINE const float* floatsAt(const GeneralTensor& tensor, uint32_t word) {
  return reinterpret_cast<const float*>(tensor.table + word);
}

/// The sign bit of a scale: of hybrid groups it says that they are asymmetric. Other types have none.
LOWBIT_INLINE uint32_t signOfScale(StoredType type) {
  return type == StoredType::F16 ? HALF_SIGN : type == StoredType::F32 ? 0x80000000u : 0u;
}

LOWBIT_INLINE uint32_t bytesOfType(StoredType type) {
  switch (type) {
    case StoredType::F16:
      return 2;
    case StoredType::F32:
      return 4;
    case StoredType::NONE:
      return 0;
    default:
      return 1;
  }
}

/// What the bits of a parameter stand for.
LOWBIT_INLINE float storedValue(StoredType type, uint32_t bits) {
  switch (type) {
    case StoredType::F16:
      return halfValue(bits);
    case StoredType::F32:
      return floatOf(bits);
    case StoredType::E4M3: {
      const uint32_t exponent = bits >> 3 & 15;
      const uint32_t units = (bits & 7) + (exponent == 0 ? 0 : 8);
      // 2^(exponent - 10), of subnormal numbers 2^-9.
      const float step = floatOf(((exponent == 0 ? 1 : exponent) + 117) << 23);
      return productOf(static_cast<float>(units), step);
    }
    case StoredType::E8M0:
      return floatOf(bits << 23);
    default:
      return 1.0f;
  }
}

/// Bits of parameter `entry` of a plane.
LOWBIT_INLINE uint32_t loadStored(const unsigned char* plane, StoredType type, uint32_t entry) {
  switch (type) {
    case StoredType::F16:
      return reinterpret_cast<const uint16_t*>(plane)[entry];
    case StoredType::F32:
      return reinterpret_cast<const uint32_t*>(plane)[entry];
    case StoredType::NONE:
      return 0;
    default:
      return plane[entry];
  }
}

/// Entry of the parameters of an element, in each of their planes.
LOWBIT_INLINE uint32_t parameterEntry(const GeneralTensor& tensor, uint32_t slot, uint32_t channel) {
  return slot / tensor.tokensPerGroup * (tensor.headDim / tensor.channelsPerGroup) + channel / tensor.channelsPerGroup;
}

/// Where the parameters of a head begin; offsets of planes count from there.
LOWBIT_INLINE uint64_t parameterBase(const GeneralTensor& tensor, uint32_t head) {
  return static_cast<uint64_t>(tensor.parametersShared != 0 ? tensor.heads : head) * tensor.headBytes;
}

/// Factor or mean of a channel: for packing, or for attention.
LOWBIT_INLINE float transformNumber(
  const GeneralTensor& tensor, const GeneralTransform& transform, const uint16_t* statistics, uint32_t head, uint32_t channel,
  bool attention
) {
  const uint32_t at = head * tensor.headDim + channel;
  if (transform.plane == NO_PLANE) return floatsAt(tensor, attention ? transform.attention : transform.packing)[at];
  const float number = halfValue(statistics[transform.plane * tensor.heads * tensor.headDim + at]);
  if (!attention || transform.kind != TransformKind::SCALE) return number;
#if defined(__CUDA_ARCH__)
  return __fdiv_rn(1.0f, number);
#else
  return 1.0f / number;
#endif
}

/// Whether a rotation negates a channel.
LOWBIT_INLINE bool isNegated(const GeneralTensor& tensor, const GeneralTransform& transform, uint32_t channel) {
  return (tensor.table[transform.packing + channel / 32] >> channel % 32 & 1) != 0;
}

}  // namespace lowbit
