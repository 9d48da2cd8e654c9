// Metrics against the figures of accuracy-finite-but-wrong and against small sums done by hand.
import { describe, expect, it } from 'vitest';
import { maxAbsDifference, nmse, relativeError } from '../../src/testing/index.js';
import { loadCase } from './load-case.js';

interface Input {
  readonly reference: number[][];
  readonly candidates: { readonly name: string; readonly values: number[][] }[];
}
interface Expected {
  readonly relErr: (number | string)[];
  readonly tolerance: number;
}

describe('metrics', () => {
  const { input, expected } = loadCase<Input, Expected>('accuracy-finite-but-wrong');
  const reference = input.reference.flat();

  it.each(
    input.candidates.map((candidate, i) => ({ ...candidate, expectedError: expected.relErr[i] })),
  )('gives the relative error of "$name"', ({ values, expectedError }) => {
    const actual = relativeError(values.flat(), reference);
    if (typeof expectedError === 'number')
      expect(Math.abs(actual - expectedError)).toBeLessThanOrEqual(expected.tolerance);
    else expect(actual).toBeNaN();
  });

  it('computes nmse and the largest difference', () => {
    expect(nmse([1, 2, 5], [1, 2, 3])).toBeCloseTo(4 / 14, 15);
    expect(relativeError([0, 0], [3, 4])).toBe(1);
    expect(maxAbsDifference([1, -2, 5], [1, 2, 3])).toBe(4);
    expect(nmse([0, 0], [0, 0])).toBe(0);
    expect(nmse([0, 1e-9], [0, 0])).toBe(Number.POSITIVE_INFINITY);
  });

  it('lets NaN through and treats equal infinities as equal', () => {
    expect(nmse([1, Number.NaN], [1, 2])).toBeNaN();
    expect(maxAbsDifference([Number.NaN, 7], [1, 2])).toBeNaN();
    expect(maxAbsDifference([Number.NEGATIVE_INFINITY], [Number.NEGATIVE_INFINITY])).toBe(0);
    expect(maxAbsDifference([Number.NEGATIVE_INFINITY], [Number.POSITIVE_INFINITY])).toBe(
      Number.POSITIVE_INFINITY,
    );
  });

  it('refuses to compare nothing or tensors of different size', () => {
    const refused = expect.objectContaining({ code: 'TENSOR_INVALID' });
    for (const metric of [nmse, relativeError, maxAbsDifference]) {
      expect(() => metric([], [])).toThrow(refused);
      expect(() => metric([1], [1, 2])).toThrow(refused);
    }
  });
});
