// Groups along tokens or channels: their parameters, and codes of their elements. core's docs/law.md, sections 3 to 5.
#pragma once
#include "general-tile.cuh"

namespace lowbit {

/// Elements of a group in a tile.
struct GeneralGroup {
  uint32_t first;
  uint32_t stride;
  uint32_t size;
};

/// Number `entry` of those of the tile, in the order of parameter planes.
LOWBIT_INLINE GeneralGroup groupOf(const GeneralTensor& tensor, uint32_t entry) {
  if (tensor.rowsAreChannels == 0) return GeneralGroup{entry * tensor.channelsPerGroup, 1, tensor.channelsPerGroup};
  const uint32_t dim = tensor.headDim;
  return GeneralGroup{entry / dim * tensor.tokensPerGroup * dim + entry % dim, dim, tensor.tokensPerGroup};
}

LOWBIT_INLINE Range rangeOf(const GeneralTile& tile, const GeneralGroup& group) {
  Range range{INFINITY, -INFINITY};
  LOWBIT_ROLLED
  for (uint32_t i = 0; i < group.size; ++i) {
    const float value = tile.at(group.first + i * group.stride);
    if (value < range.low) range.low = value;
    if (value > range.high) range.high = value;
  }
  return range.low > range.high ? Range{0.0f, 0.0f} : range;
}

/// The first element of largest magnitude, or 0.
LOWBIT_INLINE float extremeOf(const GeneralTile& tile, const GeneralGroup& group) {
  float extreme = 0.0f;
  LOWBIT_ROLLED
  for (uint32_t i = 0; i < group.size; ++i) {
    const float value = tile.at(group.first + i * group.stride);
    if (std::fabs(value) > std::fabs(extreme)) extreme = value;
  }
  return extreme;
}

/// Bits of both, of the types of the tensor.
LOWBIT_INLINE Parameters parametersOverMinimum(const GeneralTensor& tensor, Range range) {
  const uint32_t zero = offsetOf(tensor, range.low);
  const float width = differenceOf(range.high, storedValue(tensor.zeroType, zero));
  return Parameters{scaleOfExtent(tensor, width > 0.0f ? width : 0.0f, tensor.rangeStep), zero};
}

LOWBIT_INLINE uint32_t scaleAroundZero(const GeneralTensor& tensor, float extreme) {
  const bool isSigned = tensor.mode == GeneralMode::SYMMETRIC && tensor.codes == GeneralCodes::FULL_SIGNED;
  return scaleOfExtent(tensor, isSigned ? -extreme : std::fabs(extreme), tensor.extentStep);
}

LOWBIT_INLINE uint32_t scaleOfSquares(const GeneralTensor& tensor, const GeneralTile& tile, const GeneralGroup& group) {
  PairwiseSum sum;
  uint32_t members = 0;
  LOWBIT_ROLLED
  for (uint32_t i = 0; i < group.size; ++i) {
    const float value = tile.at(group.first + i * group.stride);
    const bool isMember = value == value;
    sum.add(isMember ? productOf(value, value) : 0.0f);
    members += isMember ? 1 : 0;
  }
  if (members == 0) return 0;
  return scaleOfMeanSquare(tensor, productOf(sum.total(), quotientOf(1.0f, static_cast<float>(members))));
}

/// How elements of a group become codes.
struct GeneralStep {
  float zero;
  float scale;
  bool asymmetric;
};

LOWBIT_INLINE GeneralStep stepOf(const GeneralTensor& tensor, Parameters parameters) {
  GeneralStep step{0.0f, 1.0f, tensor.mode == GeneralMode::ASYMMETRIC || tensor.mode == GeneralMode::LEVELS_OVER_ZERO};
  if (tensor.zeroType != StoredType::NONE) step.zero = storedValue(tensor.zeroType, parameters.zero);
  uint32_t scale = parameters.scale;
  if (tensor.mode == GeneralMode::HYBRID) {
    const uint32_t sign = signOfScale(tensor.scaleType);
    step.asymmetric = (scale & sign) != 0;
    scale &= ~sign;
  }
  step.scale = storedValue(tensor.scaleType, scale);
  return step;
}

LOWBIT_INLINE int lowestCode(const GeneralTensor& tensor) {
  const int half = 1 << (tensor.bits - 1);
  return tensor.codes == GeneralCodes::SIGNMAG ? 1 - half : -half;
}

/// How many of the middles, times the scale, are below a value; 0 for NaN.
LOWBIT_INLINE uint32_t levelOf(const GeneralTensor& tensor, float value, float scale) {
  const bool isScaled = tensor.levelScale != LevelScale::NONE;
  if (isScaled && scale == 0.0f) return 0;
  const float* middles = floatsAt(tensor, tensor.middles);
  uint32_t low = 0;
  uint32_t high = tensor.levelCount - 1;
  LOWBIT_ROLLED
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    const float threshold = isScaled ? productOf(middles[middle], scale) : middles[middle];
    if (value > threshold) low = middle + 1;
    else high = middle;
  }
  return low;
}

/// Not yet cut to the bits of a code.
LOWBIT_INLINE int codeOf(const GeneralTensor& tensor, const GeneralStep& step, float value) {
  switch (tensor.mode) {
    case GeneralMode::LEVELS:
      return static_cast<int>(levelOf(tensor, value, step.scale));
    case GeneralMode::LEVELS_OVER_ZERO:
      return static_cast<int>(levelOf(tensor, differenceOf(value, step.zero), step.scale));
    default:
      break;
  }
  if (step.asymmetric) {
    return nearestCode(differenceOf(value, step.zero), step.scale, 0, static_cast<int>(tensor.largestCode));
  }
  const bool isNegative = step.scale < 0.0f;
  const int highest = (1 << (tensor.bits - 1)) - 1;
  return nearestCode(isNegative ? -value : value, isNegative ? -step.scale : step.scale, lowestCode(tensor), highest);
}

/// Hybrid groups: those of the two sides with the smaller error.
LOWBIT_INLINE Parameters smallerError(
  const GeneralTensor& tensor, const GeneralTile& tile, const GeneralGroup& group, uint32_t symmetric, Parameters asymmetric
) {
  const uint32_t sign = signOfScale(tensor.scaleType);
  asymmetric.scale |= sign;
  const Parameters around{symmetric, 0};
  const GeneralStep sides[2] = {stepOf(tensor, around), stepOf(tensor, asymmetric)};
  float errors[2];
  LOWBIT_ROLLED
  for (int side = 0; side < 2; ++side) {
    const GeneralStep step = sides[side];
    PairwiseSum sum;
    LOWBIT_ROLLED
    for (uint32_t i = 0; i < group.size; ++i) {
      const float value = tile.at(group.first + i * group.stride);
      const float product = productOf(static_cast<float>(codeOf(tensor, step, value)), step.scale);
      const float decoded = step.asymmetric ? sumOf(product, step.zero) : product;
      const float error = std::fabs(differenceOf(decoded, value));
      // What is no member adds nothing to either side.
      sum.add(error == error ? error : 0.0f);
    }
    errors[side] = sum.total();
  }
  const bool takes = tensor.tieAsymmetric != 0 ? errors[1] <= errors[0] : errors[1] < errors[0];
  return takes ? asymmetric : around;
}

LOWBIT_INLINE Parameters parametersOf(const GeneralTensor& tensor, const GeneralTile& tile, const GeneralGroup& group) {
  switch (tensor.mode) {
    case GeneralMode::ASYMMETRIC:
    case GeneralMode::LEVELS_OVER_ZERO:
      return parametersOverMinimum(tensor, rangeOf(tile, group));
    case GeneralMode::HYBRID:
      return smallerError(
        tensor, tile, group, scaleAroundZero(tensor, extremeOf(tile, group)), parametersOverMinimum(tensor, rangeOf(tile, group))
      );
    case GeneralMode::LEVELS:
      if (tensor.levelScale == LevelScale::ROOT_MEAN_SQUARE) return Parameters{scaleOfSquares(tensor, tile, group), 0};
      break;
    default:
      break;
  }
  return Parameters{scaleAroundZero(tensor, extremeOf(tile, group)), 0};
}

/// Parameters of all groups of a tile, to the page.
LOWBIT_INLINE void settleGroups(const GeneralJob& job, const GeneralTile& tile, unsigned char* page) {
  const GeneralTensor& tensor = job.tensor;
  if (tensor.scaleType == StoredType::NONE) return;
  unsigned char* block = page + parameterBase(tensor, tile.firstHead);
  const uint32_t entries = tile.elements() / (tensor.tokensPerGroup * tensor.channelsPerGroup);
  const uint32_t first = parameterEntry(tensor, tile.firstSlot, 0);
  inAllThreads<GENERAL_THREADS>([&](uint32_t thread) {
    LOWBIT_ROLLED
    for (uint32_t entry = thread; entry < entries; entry += GENERAL_THREADS) {
      const Parameters parameters = parametersOf(tensor, tile, groupOf(tensor, entry));
      store(block + tensor.scaleOffset, tensor.scaleType, first + entry, parameters.scale);
      store(block + tensor.zeroOffset, tensor.zeroType, first + entry, parameters.zero);
    }
  });
}

/// From the parameters of a head.
LOWBIT_INLINE GeneralStep loadStep(const GeneralTensor& tensor, const unsigned char* block, uint32_t entry) {
  return stepOf(
    tensor, Parameters{
              loadStored(block + tensor.scaleOffset, tensor.scaleType, entry), loadStored(block + tensor.zeroOffset, tensor.zeroType, entry)
            }
  );
}

}  // namespace lowbit
