/**
 * Inline tensor schemes of level tables, and variations of any tensor: other types of parameters, outliers.
 */
import type { LevelTable, QuantizedTensorScheme } from '../scheme.js';
import { E2M1_LEVELS, e4m3Levels } from './float-levels.js';
import { asymmetric, symmetric } from './inline-schemes.js';

export function levelTable(
  bits: 2 | 3 | 4 | 8,
  codes: LevelTable,
  along: 'tokens' | 'channels',
  size: number,
  window?: QuantizedTensorScheme['window'],
): QuantizedTensorScheme {
  return {
    ...symmetric(bits, 'full', along, size, window),
    quantizer: { mode: 'symmetric', codes },
    parameters: codes.scaledBy === 'none' ? {} : { scale: 'f16' },
  };
}

/** A level table over the group minimum; its first level is 0. */
export function offsetLevelTable(
  bits: 2 | 3 | 4 | 8,
  levels: LevelTable['levels'],
  along: 'tokens' | 'channels',
  size: number,
  window?: QuantizedTensorScheme['window'],
): QuantizedTensorScheme {
  return {
    ...asymmetric(bits, along, size, window),
    quantizer: { mode: 'asymmetric', codes: { levels, scaledBy: 'absoluteMaximum' } },
  };
}

/** The same tensor with parameters of other types. */
export function withParameters(
  tensor: QuantizedTensorScheme,
  parameters: QuantizedTensorScheme['parameters'],
): QuantizedTensorScheme {
  return { ...tensor, parameters };
}

/** The same tensor with the largest magnitudes of each token beside the codes. */
export function withTop(tensor: QuantizedTensorScheme, count: number): QuantizedTensorScheme {
  return { ...tensor, outliers: { kind: 'top', count, storage: { format: 'list' } } };
}

/** The same tensor with types of parameters that its quantizer allows; different picks give different ones. */
export function withTypes(tensor: QuantizedTensorScheme, pick: number): QuantizedTensorScheme {
  const { quantizer, outliers, parameters } = tensor;
  if (outliers?.kind === 'bands' || parameters.scale === undefined) return tensor;
  const signed = quantizer.mode === 'hybrid' || quantizer.codes === 'fullSigned';
  const hasZero = parameters.zero !== undefined;
  const allowed = signed ? 2 : hasZero ? 3 : 4;
  const scale = (['f16', 'f32', 'e4m3', 'e8m0'] as const)[pick % allowed] as 'f16';
  const zero = pick % 7 < 3 ? 'f32' : 'f16';
  return withParameters(tensor, hasZero ? { scale, zero } : { scale });
}

/** Tables of every size, around zero and over a zero, under every kind of scale. */
export function inlineTables(
  along: 'tokens' | 'channels',
  size: number,
): readonly QuantizedTensorScheme[] {
  const around = [
    [2, [-1.5, -0.45, 0.45, 1.5]],
    [3, [-0.3, 0, 0.1, 0.25, 1.7]],
    [4, E2M1_LEVELS],
    [8, e4m3Levels()],
    [2, 'calibrated'],
  ] as const;
  const over = [
    [2, [0, 0.2, 1]],
    [3, [0, 0.1, 0.3, 0.6, 1, 1.7]],
    [4, Array.from({ length: 16 }, (_, i) => i ** 1.5)],
    [2, 'calibrated'],
  ] as const;
  return [
    ...around.flatMap(([bits, levels]) =>
      (['absoluteMaximum', 'rootMeanSquare', 'none'] as const).map((scaledBy) =>
        levelTable(bits, { levels, scaledBy }, along, size),
      ),
    ),
    ...over.map(([bits, levels]) => offsetLevelTable(bits, levels, along, size)),
  ];
}
