/** The blocked loops of attention give the sums of the plain ones bit for bit, whatever rows, tokens and channels remain. */
import { expect, it } from 'vitest';
import { addTile, dotTile, holdsZero, type TileRun } from '../../src/law/attention-kernels.js';
import { lcgNormal } from '../../src/testing/index.js';

const drawn = (seed: number, length: number) =>
  Float64Array.from(lcgNormal({ seed, shape: [length], dtype: 'f32' }));

function runOf(rows: number, count: number, dim: number): TileRun {
  const values = Float32Array.from(drawn(7, (count + 2) * dim));
  return { values, offset: dim, count, dim, rows, columns: count + 5, column: 3 };
}

const shapes = [1, 2, 3, 4, 5, 6, 7].flatMap((rows) =>
  [1, 2, 3, 4, 5, 7, 8].flatMap((count) =>
    [1, 2, 3, 5, 8].map((dim) => [rows, count, dim] as const),
  ),
);

it('dots every row with every token', () => {
  for (const [rows, count, dim] of shapes) {
    const run = runOf(rows, count, dim);
    const query = drawn(11, rows * dim);
    const expected = new Float64Array(rows * run.columns).fill(-1);
    for (let row = 0; row < rows; row++) {
      for (let token = 0; token < count; token++) {
        let dot = 0;
        for (let c = 0; c < dim; c++)
          dot += (query[row * dim + c] ?? 0) * (run.values[run.offset + token * dim + c] ?? 0);
        expected[row * run.columns + run.column + token] = dot;
      }
    }
    const logits = new Float64Array(rows * run.columns).fill(-1);
    dotTile(run, query, logits);
    expect(logits).toEqual(expected);
  }
});

it('adds tokens in order to what is there', () => {
  for (const [rows, count, dim] of shapes) {
    const run = runOf(rows, count, dim);
    const weights = drawn(13, rows * run.columns);
    const start = drawn(17, rows * dim);
    const expected = start.slice();
    for (let row = 0; row < rows; row++) {
      for (let token = 0; token < count; token++) {
        const weight = weights[row * run.columns + run.column + token] ?? 0;
        for (let c = 0; c < dim; c++)
          expected[row * dim + c] =
            (expected[row * dim + c] ?? 0) +
            weight * (run.values[run.offset + token * dim + c] ?? 0);
      }
    }
    const output = start.slice();
    addTile(run, weights, output);
    expect(output).toEqual(expected);
  }
});

it('finds a zero weight inside the run only', () => {
  const run = runOf(2, 3, 4);
  const weights = new Float64Array(2 * run.columns).fill(1);
  weights[0] = 0;
  expect(holdsZero(run, weights)).toBe(false);
  weights[run.columns + run.column + 2] = 0;
  expect(holdsZero(run, weights)).toBe(true);
});
