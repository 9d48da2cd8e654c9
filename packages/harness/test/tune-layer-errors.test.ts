/** The table of a layer against plain attention, query by query, over what the cache would hold then. */
import { decodeF16 } from '@lowbit-kv/core';
import { lcgNormal } from '@lowbit-kv/core/testing';
import { expect, it } from 'vitest';
import { type CaptureSizes, positionOf } from '../src/capture-layers.js';
import { exactAttention } from '../src/exact-attention.js';
import { addSums, type ErrorSum, errorSum, nmseOf } from '../src/metrics.js';
import { type DecodedTensor, pairErrors, singleErrors } from '../src/tune/layer-errors.js';

const sizes: CaptureSizes = {
  queryHeads: 6,
  kvHeads: 2,
  keyHeadDim: 8,
  valueHeadDim: 5,
  tokens: 47,
  queries: 11,
  // The first query stands at token 6: among the sinks of one candidate.
  stride: 4,
  scale: 0.4,
};
const draw = (seed: number, dim: number) =>
  lcgNormal({ seed, shape: [sizes.tokens, sizes.kvHeads, dim], dtype: 'f16' });
const [keyBits, valueBits] = [draw(1, 8), draw(2, 5)];
const exact = { key: decodeF16(keyBits), value: decodeF16(valueBits) };
const query = Float32Array.from(
  lcgNormal({ seed: 3, shape: [sizes.queries * 6 * 8], dtype: 'f32' }),
);
const layer = {
  ...{ index: 0, key: keyBits, value: valueBits, exact, query },
  preRope: () => expect.fail('not asked for'),
};
const { output: exactOutput } = exactAttention({ ...exact, query }, sizes);
const problem = { layer, sizes, exactOutput };

const rule = (sinks: number, recent: number, flush: number, statisticsTokens = 0) => ({
  sinks,
  recent,
  flush,
  statisticsTokens,
});
const keys: DecodedTensor[] = [
  { values: decodeF16(draw(11, 8)), window: exact.key, rule: rule(4, 3, 1) },
  { values: decodeF16(draw(12, 8)), window: decodeF16(draw(13, 8)), rule: rule(9, 2, 8) },
  { values: exact.key, window: exact.key, rule: rule(0, 0, 0) },
];
const values: DecodedTensor[] = [
  { values: decodeF16(draw(21, 5)), window: exact.value, rule: rule(9, 1, 4) },
  { values: decodeF16(draw(22, 5)), window: exact.value, rule: rule(2, 5, 1, 30) },
  { values: exact.value, window: exact.value, rule: rule(0, 0, 0) },
];

/** Packed tokens by definition: the oldest after the sinks, `flush` at a time, once the tail is longer than `recent`. */
function held(tensor: DecodedTensor, length: number): Float32Array {
  const { sinks, recent, flush, statisticsTokens } = tensor.rule;
  const width = tensor.window.length / sizes.tokens;
  const result = tensor.window.slice();
  if (flush === 0 || length < sinks + statisticsTokens) return result;
  let packed = 0;
  while (length - sinks - packed >= recent + flush) packed += flush;
  const [from, to] = [sinks * width, (sinks + packed) * width];
  result.set(tensor.values.subarray(from, to), from);
  return result;
}

function plainError(key: DecodedTensor, value: DecodedTensor): number {
  const sums: ErrorSum[] = [];
  const [rowWidth, outputWidth] = [6 * 8, 6 * 5];
  for (let row = 0; row < sizes.queries; row++) {
    const length = positionOf(sizes, row) + 1;
    const { output } = exactAttention(
      {
        key: held(key, length).subarray(0, length * 16),
        value: held(value, length).subarray(0, length * 10),
        query: query.subarray(row * rowWidth, (row + 1) * rowWidth),
      },
      { ...sizes, tokens: length, queries: 1, stride: 1 },
    );
    sums.push(errorSum(output, exactOutput.subarray(row * outputWidth, (row + 1) * outputWidth)));
  }
  return nmseOf(addSums(sums));
}

it('holds the error of every pair', () => {
  for (const [k, key] of keys.entries()) {
    const row = pairErrors(problem, key, values);
    expect(row).toHaveLength(values.length);
    for (const [v, value] of values.entries()) {
      const expected = plainError(key, value);
      const found = row[v] as number;
      // Sums in another order.
      expect(Math.abs(found - expected)).toBeLessThanOrEqual(1e-12 * expected + 1e-28);
      if (k < 2 || v < 2) expect(expected).toBeGreaterThan(0.01);
    }
  }
});

it('measures one tensor alone', () => {
  const { key, value } = singleErrors(problem, keys, values);
  const untouched = { key: keys[2] as DecodedTensor, value: values[2] as DecodedTensor };
  for (const [k, tensor] of keys.entries())
    expect(key[k]).toBeCloseTo(plainError(tensor, untouched.value), 12);
  for (const [v, tensor] of values.entries())
    expect(value[v]).toBeCloseTo(plainError(untouched.key, tensor), 12);
});
