// Levels against every possible clustering of small sets, fixed ends, weights, few points, bins against the numbers themselves.
import { lcgNormal } from '@lowbit-kv/core/testing';
import { describe, expect, test } from 'vitest';
import { fitLevels, type WeightedPoints } from '../src/fit-levels.js';
import { PointHistogram } from '../src/point-histogram.js';

function pointsOf(positions: readonly number[], weights = positions.map(() => 1)): WeightedPoints {
  return { positions: Float64Array.from(positions), weights: Float64Array.from(weights) };
}

/** Weighted squared distance of the points to the nearest level. */
function costOf({ positions, weights }: WeightedPoints, levels: readonly number[]): number {
  let sum = 0;
  for (const [i, x] of positions.entries())
    sum += (weights[i] as number) * Math.min(...levels.map((level) => (x - level) ** 2));
  return sum;
}

/** Least cost over all assignments of points to `count` free levels beside the fixed ones. */
function bruteForce(points: WeightedPoints, count: number, fixed: readonly number[]): number {
  const { positions, weights } = points;
  const total = positions.length;
  const labels = count + fixed.length;
  let least = Number.POSITIVE_INFINITY;
  for (let code = 0; code < labels ** total; code++) {
    const label = Array.from({ length: total }, (_, i) => Math.floor(code / labels ** i) % labels);
    const centers = Array.from({ length: labels }, (_, j) => {
      if (j >= count) return fixed[j - count] as number;
      let [mass, moment] = [0, 0];
      for (const [i, x] of positions.entries()) {
        if (label[i] !== j) continue;
        mass += weights[i] as number;
        moment += (weights[i] as number) * x;
      }
      return mass === 0 ? 0 : moment / mass;
    });
    let sum = 0;
    for (const [i, x] of positions.entries())
      sum += (weights[i] as number) * (x - (centers[label[i] as number] as number)) ** 2;
    least = Math.min(least, sum);
  }
  return least;
}

describe.each([1, 2, 3])('seven drawn points, seed %i', (seed) => {
  const drawn = lcgNormal({ seed, shape: [7], dtype: 'f32', std: 0.4 });
  const positions = [...drawn].map((x) => Math.min(Math.max(x, -1), 1)).sort((a, b) => a - b);
  const weights = [...lcgNormal({ seed: seed + 50, shape: [7], dtype: 'f32' })].map(
    (x) => 0.1 + x * x,
  );

  test.each([1, 2, 3, 4])('%i free levels are the best there are', (count) => {
    for (const points of [pointsOf(positions), pointsOf(positions, weights)]) {
      const levels = fitLevels(points, count);
      expect(levels).toHaveLength(count);
      expect(levels).toEqual([...levels].sort((a, b) => a - b));
      expect(costOf(points, levels)).toBeCloseTo(bruteForce(points, count, []), 10);
    }
  });

  test.each([2, 3, 4])('%i levels of which the ends are fixed', (count) => {
    const points = pointsOf(positions, weights);
    const levels = fitLevels(points, count, [-1, 1]);
    expect(levels).toHaveLength(count);
    expect([levels[0], levels.at(-1)]).toEqual([-1, 1]);
    expect(costOf(points, levels)).toBeCloseTo(bruteForce(points, count - 2, [-1, 1]), 10);
  });
});

test('weights pull', () => {
  expect(fitLevels(pointsOf([0, 1, 10]), 2)).toEqual([0.5, 10]);
  expect(fitLevels(pointsOf([0, 1, 10], [3, 1, 1]), 2)).toEqual([0.25, 10]);
  // Halving 10 into a level of its own is worth less than keeping 0 and 1 apart.
  expect(fitLevels(pointsOf([0, 1, 10], [1e4, 1e4, 1e-2]), 2)[0]).toBe(0);
});

test('fewer points than levels: the points', () => {
  expect(fitLevels(pointsOf([-0.5, 0.25]), 8)).toEqual([-0.5, 0.25]);
  expect(fitLevels(pointsOf([]), 4)).toEqual([]);
  expect(fitLevels(pointsOf([]), 4, [0, 1])).toEqual([0, 1]);
  expect(fitLevels(pointsOf([0, 0.5, 1]), 8, [0, 1])).toEqual([0, 0, 0.5, 1, 1]);
});

test('bins lose nothing that matters: 3000 numbers, 8 levels', () => {
  const numbers = [...lcgNormal({ seed: 3, shape: [3000], dtype: 'f32', std: 0.3 })]
    .map((x) => Math.min(Math.max(x, -1), 1))
    .sort((a, b) => a - b);
  const histogram = new PointHistogram(-1, 1);
  for (const x of numbers) histogram.add(x, 1);
  const { positions, weights } = histogram.points();
  expect(positions.length).toBeLessThan(2048);
  expect(weights.reduce((sum, weight) => sum + weight, 0)).toBe(3000);
  const exact = pointsOf(numbers);
  const best = costOf(exact, fitLevels(exact, 8));
  const binned = costOf(exact, fitLevels({ positions, weights }, 8));
  expect(best).toBeGreaterThan(0);
  expect(binned / best).toBeLessThan(1.0001);
});

test('bins hold both ends of their interval', () => {
  const histogram = new PointHistogram(0, 1);
  for (const x of [0, 1, 1, 0.5]) histogram.add(x, 2);
  expect(histogram.points()).toEqual(pointsOf([0, 0.5, 1], [2, 2, 4]));
});
