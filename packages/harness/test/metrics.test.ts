/** Error metrics on data small enough to work out by hand. */
import { describe, expect, it } from 'vitest';
import { exactAttention } from '../src/exact-attention.js';
import { addSums, errorSum, isWorse, nmseOf, outputError } from '../src/metrics.js';

const SIZES = {
  queryHeads: 2,
  kvHeads: 1,
  keyHeadDim: 2,
  valueHeadDim: 2,
  tokens: 5,
  queries: 2,
  stride: 1,
  scale: 1,
};

/** Two layers, two queries, two heads, two channels. */
function outputs(change: (layers: Float32Array[]) => void = () => undefined) {
  const truth = [
    Float64Array.of(1, 0, 2, 0, 0, 1, 0, 2),
    Float64Array.of(10, 0, 10, 0, 10, 0, 10, 0),
  ];
  const actual = truth.map((layer) => Float32Array.from(layer));
  change(actual);
  const logSumExp = [new Float32Array(4), Float32Array.of(0, 0, 0, 0.5)];
  return outputError(
    actual.map((output, i) => ({ output, logSumExp: logSumExp[i] as Float32Array })),
    truth.map((output) => ({ output, logSumExp: new Float64Array(4) })),
    [3, 7],
    SIZES,
  );
}

describe('sums', () => {
  it('is noise power over signal power', () => {
    expect(nmseOf(errorSum([1, 2, 3], [1, 2, 5]))).toBeCloseTo(4 / 30, 15);
    expect(nmseOf(errorSum([1, 2, 3], [1, 2, 5], 0, 2))).toBe(0);
    expect(nmseOf(addSums([errorSum([1], [2]), errorSum([4], [4])]))).toBe(1 / 20);
  });

  it('is 1 for an output of zeros, and never 0 or finite for what cannot be compared', () => {
    expect(nmseOf(errorSum([0, 0], [3, 4]))).toBe(1);
    expect(nmseOf(errorSum([1], [0]))).toBe(Number.POSITIVE_INFINITY);
    expect(nmseOf(errorSum([Number.NaN], [1]))).toBeNaN();
  });

  it('takes NaN for the worst, whatever comes after it', () => {
    expect(isWorse(2, 1)).toBe(true);
    expect(isWorse(1, 1)).toBe(false);
    expect(isWorse(Number.NaN, 1e9)).toBe(true);
    expect(isWorse(1e9, Number.NaN)).toBe(false);
  });
});

describe('output errors', () => {
  it('is 0 everywhere for equal outputs, with the log-sum-exp on its own', () => {
    const error = outputs();
    expect(error.nmse).toBe(0);
    expect(error.maxAbsError.value).toBe(0);
    expect(error.logSumExp).toEqual({ mean: 0.5 / 8, max: 0.5 });
  });

  it('finds the worst head, row, layer and element where they are', () => {
    // Layer 3, query 1 (position 4), head 1: [0, 2] becomes [1, 2].
    const error = outputs((layers) => {
      (layers[0] as Float32Array)[6] = 1;
    });
    expect(error.worstHead).toEqual({ layer: 3, head: 1, nmse: 1 / 8 });
    expect(error.worstLayer).toEqual({ layer: 3, nmse: 1 / 10 });
    expect(error.worstRow).toEqual({ layer: 3, head: 1, position: 4, value: 1 / 4 });
    expect(error.maxAbsError).toEqual({ layer: 3, head: 1, position: 4, value: 1 });
    expect(error.nmse).toBeCloseTo(0.05, 15);
    expect(error.layers).toEqual([
      { layer: 3, nmse: 1 / 10, heads: [0, 1 / 8] },
      { layer: 7, nmse: 0, heads: [0, 0] },
    ]);
  });

  it('shows one head that collapsed, which the mean hides', () => {
    const error = outputs((layers) => {
      (layers[0] as Float32Array)[0] = 0;
      (layers[0] as Float32Array)[5] = 0;
    });
    expect(error.worstHead).toEqual({ layer: 3, head: 0, nmse: 1 });
    expect(error.nmse).toBeLessThan(0.11);
  });

  it('has no figure where an output is not finite', () => {
    const error = outputs((layers) => {
      (layers[1] as Float32Array)[2] = Number.NaN;
    });
    expect(error.nmse).toBeNull();
    expect(error.worstHead).toEqual({ layer: 7, head: 1, nmse: null });
    expect(error.maxAbsError).toMatchObject({ layer: 7, head: 1, position: 3, value: null });
    expect(error.layers[0]?.nmse).toBe(0);
  });
});

it('tells rows shifted by one, a wrong scale and a zero row from the truth', () => {
  const rows = Array.from({ length: 8 }, (_, row) =>
    [0, 1, 2, 3].map((c) => 1 + 0.4 * row + 0.1 * c),
  );
  const exact = rows.flat();
  const relative = (actual: number[]) => Math.sqrt(nmseOf(errorSum(actual, exact)));
  expect(relative([...(rows[7] ?? []), ...rows.slice(0, 7).flat()])).toBeCloseTo(0.39022732132, 9);
  expect(relative(exact.map((x) => 1.1 * x))).toBeCloseTo(0.1, 9);
  expect(relative(rows.flatMap((row, i) => (i === 3 ? [0, 0, 0, 0] : row)))).toBeCloseTo(
    0.30670614727,
    9,
  );
});

it('attends in float64 as worked out by hand', () => {
  // One head of one channel; keys 0 and ln 3: weights 1/4 and 3/4 for query 1, a plain mean for query 0.
  const sizes = { ...SIZES, queryHeads: 1, keyHeadDim: 1, valueHeadDim: 1, tokens: 3, queries: 2 };
  const key = Float32Array.of(0, Math.fround(Math.log(3)), 0);
  const value = Float32Array.of(8, 4, 100);
  const { output, logSumExp } = exactAttention({ key, value, query: Float32Array.of(1, 0) }, sizes);
  expect(output[0]).toBeCloseTo(5, 6);
  expect(logSumExp[0]).toBeCloseTo(Math.log(4), 6);
  expect(output[1]).toBeCloseTo(112 / 3, 10);
  expect(logSumExp[1]).toBeCloseTo(Math.log(3), 12);
});
