// What packing does to rows before it quantizes them: core's docs/law.md, section 7. One rounding an operation.
#pragma once
#include "general-tile.cuh"

namespace lowbit {

LOWBIT_INLINE void scaleOrShiftRows(
  const GeneralTensor& tensor, const GeneralTransform& transform, const uint16_t* statistics, const GeneralTile& tile
) {
  const bool scales = transform.kind == TransformKind::SCALE;
  inAllThreads<GENERAL_THREADS>([&](uint32_t thread) {
    tile.each(thread, [&](uint32_t row, uint32_t channel) {
      const uint32_t head = tile.firstHead + row % tile.heads;
      const float number = transformNumber(tensor, transform, statistics, head, channel, false);
      float& value = tile.at(row * tile.dim + channel);
      value = scales ? productOf(value, number) : differenceOf(value, number);
    });
  });
}

LOWBIT_INLINE void rotateRows(const GeneralTensor& tensor, const GeneralTransform& transform, const GeneralTile& tile) {
  inAllThreads<GENERAL_THREADS>([&](uint32_t thread) {
    tile.each(thread, [&](uint32_t row, uint32_t channel) {
      float& value = tile.at(row * tile.dim + channel);
      if (isNegated(tensor, transform, channel)) value = -value;
    });
  });
  const uint32_t pairs = tile.elements() / 2;
  LOWBIT_ROLLED
  for (uint32_t stride = 1; stride < tile.dim; stride *= 2) {
    inAllThreads<GENERAL_THREADS>([&](uint32_t thread) {
      // Rows are powers of two: strides never cross them.
      LOWBIT_ROLLED
      for (uint32_t pair = thread; pair < pairs; pair += GENERAL_THREADS) {
        const uint32_t first = 2 * pair - (pair & (stride - 1));
        float& a = tile.at(first);
        float& b = tile.at(first + stride);
        const float sum = sumOf(a, b);
        b = differenceOf(a, b);
        a = sum;
      }
    });
  }
  inAllThreads<GENERAL_THREADS>([&](uint32_t thread) {
    LOWBIT_ROLLED
    for (uint32_t i = thread; i < tile.elements(); i += GENERAL_THREADS) tile.at(i) = productOf(tile.at(i), tensor.rotationFactor);
  });
}

LOWBIT_INLINE void orderRows(
  const GeneralJob& job, const GeneralTensor& tensor, const GeneralTransform& transform, const GeneralTile& tile
) {
  float* others = tile.others(job);
  inAllThreads<GENERAL_THREADS>([&](uint32_t thread) {
    tile.each(thread, [&](uint32_t row, uint32_t channel) {
      const uint32_t head = tile.firstHead + row % tile.heads;
      const uint32_t from = tensor.table[transform.packing + head * tile.dim + channel];
      others[placeOf(row * tile.dim + channel)] = tile.at(row * tile.dim + from);
    });
  });
  inAllThreads<GENERAL_THREADS>([&](uint32_t thread) {
    LOWBIT_ROLLED
    for (uint32_t i = thread; i < tile.elements(); i += GENERAL_THREADS) tile.at(i) = others[placeOf(i)];
  });
}

/// The first `job.transforms` of the tensor, in order.
LOWBIT_INLINE void transformRows(const GeneralJob& job, const unsigned char* statistics, const GeneralTile& tile) {
  const GeneralTensor& tensor = job.tensor;
  LOWBIT_ROLLED
  for (uint32_t number = 0; number < job.transforms; ++number) {
    const GeneralTransform transform = transformOf(tensor, number);
    switch (transform.kind) {
      case TransformKind::HADAMARD:
        rotateRows(tensor, transform, tile);
        break;
      case TransformKind::ORDER:
        orderRows(job, tensor, transform, tile);
        break;
      default:
        scaleOrShiftRows(tensor, transform, reinterpret_cast<const uint16_t*>(statistics), tile);
    }
  }
}

}  // namespace lowbit
