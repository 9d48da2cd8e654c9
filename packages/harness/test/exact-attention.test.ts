/** The harness's own float64 attention against core's readable oracle, over head ratios and odd sizes. */
import { lcgNormal, nmse, referenceAttention } from '@lowbit-kv/core/testing';
import { expect, it } from 'vitest';
import { exactAttention } from '../src/exact-attention.js';

const drawn = (seed: number, length: number) =>
  Float32Array.from(lcgNormal({ seed, shape: [length], dtype: 'f32' }));

it.each([
  [4, 4, 8, 8, 17, 17],
  [6, 2, 5, 3, 23, 6],
  [8, 1, 3, 7, 9, 1],
])('%i query heads on %i kv heads, dims %i and %i, %i tokens, %i queries', (...numbers) => {
  const [queryHeads, kvHeads, keyHeadDim, valueHeadDim, tokens, queries] = numbers;
  const scale = 0.7;
  const heads = { queryHeads, kvHeads, keyHeadDim, valueHeadDim };
  const sizes = { ...heads, tokens, queries, stride: 1, scale };
  const key = drawn(1, tokens * kvHeads * keyHeadDim);
  const value = drawn(2, tokens * kvHeads * valueHeadDim);
  const query = drawn(3, queries * queryHeads * keyHeadDim);
  const exact = exactAttention({ key, value, query }, sizes);
  const oracle = referenceAttention({
    keys: key,
    values: value,
    queries: query,
    tokens,
    queryTokens: queries,
    queryHeads,
    kvHeads,
    keyDim: keyHeadDim,
    valueDim: valueHeadDim,
    scale,
  });
  expect(nmse(exact.output, oracle.output)).toBeLessThan(1e-28);
  expect(nmse(exact.logSumExp, oracle.logSumExp)).toBeLessThan(1e-28);

  // Every second query back from the last gives the same rows.
  const kept = Array.from({ length: queries }, (_, row) => row).filter(
    (row) => (queries - 1 - row) % 2 === 0,
  );
  const rows = (source: ArrayLike<number>, size: number) =>
    kept.flatMap((row) => Array.from(source).slice(row * size, (row + 1) * size));
  const strided = exactAttention(
    { key, value, query: Float32Array.from(rows(query, queryHeads * keyHeadDim)) },
    { ...sizes, queries: kept.length, stride: 2 },
  );
  expect([...strided.output]).toEqual(rows(exact.output, queryHeads * valueHeadDim));
  expect([...strided.logSumExp]).toEqual(rows(exact.logSumExp, queryHeads));

  const width = valueHeadDim;
  const last = exactAttention({ key, value, query }, sizes, queryHeads - 1).output;
  for (let row = 0; row < queries * queryHeads; row++) {
    const all = exact.output.subarray(row * width, (row + 1) * width);
    const only = last.subarray(row * width, (row + 1) * width);
    expect(only).toEqual(row % queryHeads === queryHeads - 1 ? all : new Float64Array(width));
  }
});
