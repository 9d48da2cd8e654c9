// num-folded-query-range: key scales so large or so far apart that a query folded with them in f16 overflows or vanishes.
import { expect, it } from 'vitest';
import { encodeF16 } from '../../src/float16.js';
import { groupScheme } from '../law/support.js';
import { loadCase } from '../testing/load-case.js';
import { attended, cacheOf, filled } from './num-support.js';

const { input, expected } = loadCase<
  {
    shape: { T: number; D: number };
    bits: 4;
    runs: { name: string; K: string; q: string; softmaxScale: number }[];
  },
  {
    overflow: { output: number };
    underflow: { output: number; ifLost: number };
    tolerance: number;
  }
>('num-folded-query-range');
const { T, D } = input.shape;

/** The keys and queries that the runs describe in words. */
const RUNS: Record<string, { key: (token: number, channel: number) => number; query: number[] }> = {
  overflow: { key: (token, channel) => (channel === 0 ? 256 * (token % 16) : 0), query: [1024] },
  underflow: {
    key: (token, channel) => (token % 16) * ([4096, 2 ** -14][channel] ?? 0),
    query: [0, 1],
  },
};

it.each(input.runs)('$name', async ({ name, softmaxScale }) => {
  const { key, query } = RUNS[name]!;
  const scheme = groupScheme(input.bits, 'tokens', 32, { mode: 'asymmetric', codes: 'uniform' });
  const geometry = {
    layers: 1,
    queryHeads: 1,
    kvHeads: 1,
    keyHeadDim: D,
    valueHeadDim: D,
    scale: softmaxScale,
  };
  const cache = await cacheOf(scheme, { bits: 16 }, geometry, { tokens: T });
  const fill = (value: (token: number, channel: number) => number) =>
    encodeF16(Float32Array.from({ length: T * D }, (_, i) => value(Math.floor(i / D), i % D)));
  const sequence = await filled(
    cache,
    T,
    fill(key),
    fill((token) => token),
  );
  // The keys must come back without loss, or the answer would not be the one of the case.
  const { key: stored } = await cache.materialize(sequence, 0);
  expect(encodeF16(stored.data as Float32Array)).toEqual(fill(key));
  expect((await cache.exportBlocks(sequence, 0, 'key')).length).toBeGreaterThan(0);

  const output = await attended(
    cache,
    sequence,
    Float32Array.from({ length: D }, (_, channel) => query[channel] ?? 0),
  );
  const answer = expected[name as 'overflow' | 'underflow'].output;
  for (const result of output) expect(Math.abs(result - answer)).toBeLessThan(expected.tolerance);
});
