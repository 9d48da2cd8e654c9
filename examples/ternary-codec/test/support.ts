/**
 * Groups that a codec must get right: ordinary ones, and every corner of f32.
 */
import { lcgNormal } from '@lowbit-kv/core/testing';

/** Groups of `size` values, one after another. */
export function sampleGroups(size: number): Float32Array[] {
  const normal = Array.from({ length: 40 }, (_, i) => {
    const values = lcgNormal({ seed: 7 + i, shape: [size], dtype: 'f32' });
    return values.map((value) => value * 2 ** (i - 20));
  });
  const cycle = (...values: number[]) =>
    Float32Array.from({ length: size }, (_, i) => values[i % values.length] as number);
  return [
    ...normal,
    cycle(0),
    cycle(-0, 0),
    cycle(0.75),
    cycle(-65504, 65504),
    cycle(1, -1, 0, 0.5),
    // Near 0.7 of the mean on both sides.
    cycle(0.7, 1.3, 0.7000001, 1.2999999),
    cycle(2 ** -24, -(2 ** -23), 0),
    cycle(2 ** -130, 2 ** -149),
    cycle(3e38, -1e-30, 1),
    cycle(Number.NaN),
    cycle(Number.NaN, 1, -2),
    cycle(Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 5),
    cycle(1, 2 ** -15, 2 ** -16, 2 ** -17),
  ];
}
