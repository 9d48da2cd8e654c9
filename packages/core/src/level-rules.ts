/**
 * What a list of levels has to be, written in a scheme or measured by calibration.
 */
import type { LevelTable, QuantizedTensorScheme } from './scheme.js';

/** What is wrong with levels for a tensor whose codes are this table; null when they fit. */
export function levelsFault(
  levels: readonly number[],
  { scaledBy }: LevelTable,
  { bits, quantizer }: QuantizedTensorScheme,
): { readonly value: unknown; readonly valid: string } | null {
  if (levels.length < 2 || levels.length > 2 ** bits)
    return { value: levels.length, valid: `2 to 2^bits = ${2 ** bits} levels` };
  if (quantizer.mode === 'asymmetric' && levels[0] !== 0)
    return { value: levels, valid: 'levels that begin with 0, where groups store a zero' };
  const rounded = levels.map(Math.fround);
  const rises = rounded.every((level, i) => i === 0 || level > (rounded[i - 1] as number));
  if (!rises || !rounded.every(Number.isFinite))
    return { value: levels, valid: 'finite numbers that rise strictly, also as f32' };
  if (scaledBy === 'absoluteMaximum' && rounded.every((level) => level === 0))
    return { value: levels, valid: 'a level other than 0' };
  return null;
}
