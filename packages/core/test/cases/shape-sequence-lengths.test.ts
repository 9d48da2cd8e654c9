// Case shape-sequence-lengths: lengths around every boundary of groups, blocks, pages and windows.
import { describe, expect, it } from 'vitest';
import { tokenIdRange } from '../../src/testing/index.js';
import { bothAlongTokens } from '../support/exact-schemes.js';
import {
  appendIds,
  ask,
  expectMean,
  expectMean32,
  expectPattern,
  openCache,
} from '../support/pointer-cache.js';
import { channelKeys, scheme, tokenKeys } from '../support/schemes.js';
import { loadCase } from '../testing/load-case.js';

interface Input {
  lengths: number[];
  shape: { Hq: number; Hk: number };
  residual: number[];
}
const { input, expected } = loadCase<Input, { zeroQueryMean32: Record<string, number[]> }>(
  'shape-sequence-lengths',
);
const geometry = { queryHeads: input.shape.Hq, kvHeads: input.shape.Hk };

const plans = [
  ...input.residual.flatMap((residual) => [
    { name: `token keys 2 bit, residual ${residual}`, spec: tokenKeys({ bits: 2, residual }) },
    {
      name: `channel keys 3 bit sign-magnitude, residual ${residual}`,
      spec: channelKeys({ bits: 3, codes: 'signmag', residual, sinks: 5 }),
    },
  ]),
  { name: 'both along tokens, 8 bit', spec: bothAlongTokens(8) },
  { name: 'f16', spec: scheme({ id: 'f16', key: { bits: 16 }, value: { bits: 16 } }) },
];

describe.each(plans)('$name', ({ spec }) => {
  it('as one prompt', async () => {
    for (const length of input.lengths) {
      const cache = await openCache(spec, geometry);
      const sequence = cache.createSequence();
      if (length > 0) await appendIds(cache, sequence, tokenIdRange(0, length));
      await check(cache, sequence, length);
    }
  });

  it('grown from each length to the next', async () => {
    const cache = await openCache(spec, geometry);
    const sequence = cache.createSequence();
    for (const length of input.lengths) {
      const ids = tokenIdRange(sequence.length, length - sequence.length);
      if (ids.length > 0) await appendIds(cache, sequence, ids);
      await check(cache, sequence, length);
    }
  });
});

async function check(
  cache: Parameters<typeof ask>[0],
  sequence: Parameters<typeof ask>[1],
  length: number,
): Promise<void> {
  expect(sequence.length).toBe(length);
  if (length === 0) {
    const { output, logSumExp } = await ask(cache, sequence, null);
    expect([...new Set(output)]).toEqual([0]);
    expect([...new Set(Array.from(logSumExp))]).toEqual([Number.NEGATIVE_INFINITY]);
    return;
  }
  await expectMean(cache, sequence, tokenIdRange(0, length));
  const written = expected.zeroQueryMean32[length];
  if (written !== undefined) await expectMean32(cache, sequence, written);
  for (const id of new Set([0, Math.floor(length / 2), length - 1]))
    await expectPattern(cache, sequence, id);
}

it('meets every mean the case writes out', () => {
  const written = Object.keys(expected.zeroQueryMean32).map(Number);
  expect(written.length).toBeGreaterThan(0);
  expect(written.every((length) => input.lengths.includes(length))).toBe(true);
});
