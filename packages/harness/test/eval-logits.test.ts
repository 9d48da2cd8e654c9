/** Softmax sums, divergence and statistics of an evaluation, on rows as hard as they come. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expOfNegative, LEAST_EXPONENT } from '../src/eval/exponential.js';
import {
  baselineSums,
  divergence,
  largestDifference,
  negativeLogOf,
  negativeLogProbability,
  rowSums,
} from '../src/eval/logit-row.js';
import { curveSpans, positionBuckets } from '../src/eval/positions.js';
import { estimate, quantile, rootMeanSquare } from '../src/eval/statistics.js';
import { mean, naivePrediction, standardError } from './support/naive-figures.js';

/** Of the fast exponential; what its comment promises. */
const EXPONENTIAL_RELATIVE = 1e-12;
/** Of the divergence of a row from itself, in float64 without any allowance: the sums are the same sums. */
const SELF_DIVERGENCE = 0;

describe('the fast exponential', () => {
  it('is within its bound over its whole range', () => {
    let worst = 0;
    for (let i = 0; i <= 400_000; i++) {
      const x = (LEAST_EXPONENT * i) / 400_000;
      worst = Math.max(worst, Math.abs(expOfNegative(x) / Math.exp(x) - 1));
    }
    for (let x = -1; x < -1e-20; x /= 1.01)
      worst = Math.max(worst, Math.abs(expOfNegative(x) / Math.exp(x) - 1));
    expect(worst).toBeLessThan(EXPONENTIAL_RELATIVE);
    expect(worst).toBeGreaterThan(0);
  });

  it('gives 1 for 0, and NaN for NaN', () => {
    expect(expOfNegative(0)).toBe(1);
    expect(expOfNegative(-0)).toBe(1);
    expect(expOfNegative(Number.NaN)).toBeNaN();
  });
});

interface Row {
  readonly negativeLog: number;
  readonly divergence: number;
  readonly agrees: number;
  readonly self: number;
}

function measured(base: readonly number[], other: readonly number[], target: number): Row {
  const baseline = Float32Array.from(base);
  const logits = Float32Array.from(other);
  const weights = new Float32Array(base.length);
  const sums = baselineSums(baseline, weights);
  const otherSums = rowSums(logits, weights);
  return {
    negativeLog: negativeLogOf(otherSums, logits[target] as number),
    divergence: divergence(sums, otherSums),
    agrees: Number(sums.top === otherSums.top),
    self: divergence(sums, rowSums(baseline, weights)),
  };
}

function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

describe('a row of logits', () => {
  it.each([1, 2, 3, 255, 50_000])('of a vocabulary of %d equals the plain computation', (size) => {
    const next = random(size);
    const base = Array.from({ length: size }, () => Math.fround(20 * (next() - 0.5)));
    const other = base.map((logit) => Math.fround(logit + 0.5 * (next() - 0.5)));
    const target = size >> 1;
    const row = measured(base, other, target);
    const plain = naivePrediction(base, other, target);
    expect(row.negativeLog).toBeCloseTo(plain.negativeLog, 10);
    expect(row.divergence).toBeCloseTo(plain.divergence, 8);
    expect(row.agrees).toBe(plain.agrees);
    expect(row.self).toBe(SELF_DIVERGENCE);
    expect(negativeLogProbability(Float32Array.from(other), target)).toBeCloseTo(
      plain.negativeLog,
      10,
    );
  });

  it('holds for any finite logits', () => {
    const logit = fc.oneof(
      fc.float({ noNaN: true, min: -30, max: 30 }),
      fc.constantFrom(-1e4, 1e4, -709, -708, -88, 0, -0),
    );
    const rows = fc
      .integer({ min: 1, max: 20 })
      .chain((size) =>
        fc.tuple(
          fc.array(logit, { minLength: size, maxLength: size }),
          fc.array(logit, { minLength: size, maxLength: size }),
          fc.nat(size - 1),
        ),
      );
    fc.assert(
      fc.property(rows, ([base, other, target]) => {
        const row = measured(base, other, target);
        const plain = naivePrediction(base, other, target);
        const close = (value: number, expected: number) =>
          expect(Math.abs(value - expected)).toBeLessThanOrEqual(1e-6 * (1 + Math.abs(expected)));
        close(row.negativeLog, plain.negativeLog);
        close(row.divergence, plain.divergence);
        expect(row.self).toBe(SELF_DIVERGENCE);
        // Never below 0 by more than the rounding of weights to f32.
        expect(row.divergence).toBeGreaterThan(-1e-6 * (1 + Math.abs(plain.negativeLog)));
      }),
    );
  });

  it('resolves a divergence far below the rounding of its weights', () => {
    const next = random(5);
    const base = Array.from({ length: 5000 }, () => Math.fround(20 * (next() - 0.5)));
    const other = base.map((logit) => Math.fround(logit + 1e-4 * (next() - 0.5)));
    const plain = naivePrediction(base, other, 0).divergence;
    expect(plain).toBeLessThan(1e-9);
    expect(measured(base, other, 0).divergence / plain).toBeCloseTo(1, 2);
  });

  const none = Number.NEGATIVE_INFINITY;

  it('takes -Infinity as a probability of 0', () => {
    const base = [1, none, 2, none];
    const row = measured(base, [1.5, none, 2, none], 0);
    const plain = naivePrediction([1, 2], [1.5, 2], 0);
    expect(row.divergence).toBeCloseTo(plain.divergence, 7);
    expect(row.negativeLog).toBeCloseTo(plain.negativeLog, 10);
    expect(row.self).toBe(0);
    // What f16 does not expect may be expected.
    expect(measured(base, [1, 3, 2, none], 0).divergence).toBeGreaterThan(0.5);
  });

  it('is infinitely far from a row that rules out what f16 expects', () => {
    const row = measured([1, 2, 3], [1, none, 3], 1);
    expect(row.divergence).toBe(Number.POSITIVE_INFINITY);
    expect(row.negativeLog).toBe(Number.POSITIVE_INFINITY);
  });

  it.each([
    ['NaN', [1, Number.NaN, 3]],
    ['NaN first', [Number.NaN, 2, 3]],
    ['nothing but NaN', [Number.NaN, Number.NaN, Number.NaN]],
    ['Infinity', [1, Number.POSITIVE_INFINITY, 3]],
    ['nothing but -Infinity', [none, none, none]],
    ['NaN beside logits out of range', [1e4, Number.NaN, -1e4]],
  ])('with %s comes out as NaN', (_, other) => {
    const row = measured([1, 2, 3], other, 0);
    expect(row.divergence).toBeNaN();
    expect(row.negativeLog).toBeNaN();
    expect(negativeLogProbability(Float32Array.from(other), 0)).toBeNaN();
    expect(measured(other, [1, 2, 3], 0).divergence).toBeNaN();
  });

  it('is compared logit by logit', () => {
    const of = (...logits: number[]) => Float32Array.from(logits);
    expect(largestDifference(of(1, 2, 3), of(1, -2, 3.5))).toBe(4);
    expect(largestDifference(of(1, none), of(1, none))).toBe(0);
    expect(largestDifference(of(1, none), of(1, 0))).toBe(Number.POSITIVE_INFINITY);
    expect(largestDifference(of(9, 1, 0), of(1, Number.NaN, 0))).toBeNaN();
  });
});

describe('standard errors', () => {
  const next = random(11);

  it('are those of tokens and those of windows', () => {
    const windows = Array.from({ length: 4 }, () => Float64Array.from({ length: 50 }, next));
    const made = estimate(windows);
    const values = windows.flatMap((window) => [...window]);
    const means = windows.map((window) => mean([...window]));
    expect(made.mean).toBeCloseTo(mean(values), 12);
    expect(made.standardError).toBeCloseTo(standardError(values), 12);
    expect(made.windowStandardError).toBeCloseTo(standardError(means), 12);
  });

  it('tell windows that differ from tokens that differ', () => {
    // Hard and easy windows: tokens of a window say the same thing again and again.
    const levels = [1, 2, 3, 4];
    const windows = levels.map((level) =>
      Float64Array.from({ length: 100 }, () => level + 0.01 * next()),
    );
    const made = estimate(windows);
    expect(made.windowStandardError).toBeCloseTo(standardError(levels), 2);
    expect(made.standardError).toBeLessThan(0.1 * made.windowStandardError);
  });

  it('are unknown for one window, and for one token', () => {
    const one = estimate([Float64Array.of(1, 2, 3)]);
    expect(one.standardError).toBeCloseTo(standardError([1, 2, 3]), 12);
    expect(one.windowStandardError).toBeNaN();
    expect(estimate([Float64Array.of(1)]).standardError).toBeNaN();
  });

  it('pass NaN on, as quantiles do', () => {
    const values = [Float64Array.of(1, 2, 3), Float64Array.of(4, Number.NaN, 6)];
    expect(estimate(values)).toEqual({
      mean: Number.NaN,
      standardError: Number.NaN,
      windowStandardError: Number.NaN,
    });
    expect(quantile(values, 0.5)).toBeNaN();
    expect(rootMeanSquare(values)).toBeNaN();
  });

  it('take the nearest rank as quantile', () => {
    const values = [Float64Array.from({ length: 60 }, (_, i) => 100 - i), new Float64Array(40)];
    for (let i = 0; i < 40; i++) (values[1] as Float64Array)[i] = i + 1;
    expect(quantile(values, 0.99)).toBe(99);
    expect(quantile(values, 1)).toBe(100);
    expect(quantile(values, 0.001)).toBe(1);
    expect(quantile([Float64Array.of(5)], 0.99)).toBe(5);
  });
});

describe('positions', () => {
  it.each([2, 3, 33, 128, 129, 1024, 16_384, 16_385, 131_072])(
    'of a window of %d tokens are in one bucket and one point of the curve each',
    (tokens) => {
      for (const spans of [positionBuckets(tokens), curveSpans(tokens)]) {
        expect(spans[0]?.from).toBe(1);
        expect(spans.at(-1)?.to).toBe(tokens);
        for (const [i, { from, to }] of spans.entries()) {
          expect(to).toBeGreaterThan(from);
          if (i > 0) expect(from).toBe(spans[i - 1]?.to);
        }
      }
      expect(positionBuckets(tokens).length).toBeLessThanOrEqual(8);
      expect(curveSpans(tokens).length).toBe(Math.min(32, tokens - 1));
    },
  );

  it('are in buckets that double', () => {
    const starts = (tokens: number) => positionBuckets(tokens).map(({ from }) => from);
    expect(starts(1024)).toEqual([1, 128, 256, 512]);
    expect(starts(1025)).toEqual([1, 128, 256, 512, 1024]);
    expect(starts(32_768)).toEqual([1, 256, 512, 1024, 2048, 4096, 8192, 16_384]);
  });
});
