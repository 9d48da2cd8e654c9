/**
 * Level tables and parameter types for random plans.
 */
import type { LevelTable, QuantizedTensorScheme } from '@lowbit-kv/core';
import { E2M1_LEVELS, e4m3Levels } from '@lowbit-kv/core/testing';
import fc from 'fast-check';
import { levelTable, offsetLevelTable } from './schemes.js';

const along = fc.constantFrom('tokens' as const, 'channels' as const);
const size = fc.constantFrom(8, 16, 32);

const around: readonly (readonly [2 | 3 | 4 | 8, LevelTable['levels']])[] = [
  [2, [-1.5, -0.45, 0.45, 1.5]],
  [3, [-0.3, 0, 0.1, 0.25, 1.7]],
  [4, E2M1_LEVELS],
  [8, e4m3Levels()],
  [2, 'calibrated'],
];

const over: readonly (readonly [2 | 3 | 4, LevelTable['levels']])[] = [
  [2, [0, 0.2, 1]],
  [3, [0, 0.1, 0.3, 0.6, 1, 1.7]],
  [4, Array.from({ length: 16 }, (_, i) => i ** 1.5)],
  [2, 'calibrated'],
];

/** A tensor with any kind of level table. */
export const tables: fc.Arbitrary<QuantizedTensorScheme> = fc.oneof(
  fc
    .tuple(
      fc.constantFrom(...around),
      fc.constantFrom('absoluteMaximum' as const, 'rootMeanSquare' as const, 'none' as const),
      along,
      size,
    )
    .map(([[bits, levels], scaledBy, a, s]) => levelTable(bits, { levels, scaledBy }, a, s)),
  fc
    .tuple(fc.constantFrom(...over), along, size)
    .map(([[bits, levels], a, s]) => offsetLevelTable(bits, levels, a, s)),
);

/** The tensor with parameters of types that its quantizer allows. */
export function withTypes(tensor: QuantizedTensorScheme, pick: number): QuantizedTensorScheme {
  const { quantizer, outliers, parameters } = tensor;
  if (outliers?.kind === 'bands' || parameters.scale === undefined) return tensor;
  const signed = quantizer.mode === 'hybrid' || quantizer.codes === 'fullSigned';
  const over = parameters.zero !== undefined;
  const types = (['f16', 'f32', 'e4m3', 'e8m0'] as const).slice(0, signed ? 2 : over ? 3 : 4);
  const scale = types[pick % types.length] as 'f16';
  const zero = pick % 7 < 3 ? 'f32' : 'f16';
  return { ...tensor, parameters: over ? { scale, zero } : { scale } };
}
