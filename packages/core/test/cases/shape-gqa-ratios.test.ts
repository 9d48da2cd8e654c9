// Case shape-gqa-ratios: query head h reads kv head h div (Hq/Hk), whatever the ratio.
import { expect, it } from 'vitest';
import {
  expectedPattern,
  inPointerUnits,
  maxAbsDifference,
  tokenIdRange,
} from '../../src/testing/index.js';
import { someExactSchemes } from '../support/exact-schemes.js';
import { openCache, pointAt, pointerInput, TOLERANCE } from '../support/pointer-cache.js';
import { tokenKeys } from '../support/schemes.js';
import { loadCase } from '../testing/load-case.js';

interface Expected {
  nonIntegerRatio: { Hq: number; Hk: number };
  sample: { Hq: number; Hk: number; b: number; h: number; token: number; pattern32: number[] };
}
const { input, expected } = loadCase<
  { ratios_HqHk: [number, number][]; shape: { B: number; T: number; D: number } },
  Expected
>('shape-gqa-ratios');
const { B, T, D } = input.shape;

it.each(input.ratios_HqHk)('%i query heads on %i kv heads', async (queryHeads, kvHeads) => {
  for (const { scheme } of someExactSchemes([0, 32])) {
    const cache = await openCache(scheme, { queryHeads, kvHeads, keyHeadDim: D, valueHeadDim: D });
    const entries = tokenIdRange(0, B).map((batch) => ({
      sequence: cache.createSequence(),
      ids: tokenIdRange(0, T),
      batch,
    }));
    const sequences = entries.map(({ sequence }) => sequence);
    await cache.append(
      sequences.map((sequence) => ({ sequence, tokens: T })),
      [pointerInput(cache, entries)],
    );
    const targets = tokenIdRange(0, queryHeads).map((head) => (11 * head + 5) % T);
    const query = pointAt(
      cache,
      tokenIdRange(0, B).flatMap(() => targets),
    );
    const { output } = await cache.attend(0, query, sequences).read();
    const actual = inPointerUnits(output.data);
    const patterns = tokenIdRange(0, B).flatMap((batch) =>
      targets.flatMap((id, head) => [
        ...expectedPattern(id, {
          kvHead: Math.floor(head / (queryHeads / kvHeads)),
          batch,
          headDim: D,
        }),
      ]),
    );
    expect(maxAbsDifference(actual, patterns)).toBeLessThanOrEqual(TOLERANCE);

    const { sample } = expected;
    if (sample.Hq !== queryHeads || sample.Hk !== kvHeads) continue;
    expect(targets[sample.h]).toBe(sample.token);
    const row = (sample.b * queryHeads + sample.h) * D;
    const written = Array.from({ length: D }, (_, c) => sample.pattern32[c % 32] as number);
    expect(maxAbsDifference(actual.subarray(row, row + D), written)).toBeLessThanOrEqual(TOLERANCE);
  }
});

it('refuses a ratio that is not whole', async () => {
  const { Hq, Hk } = expected.nonIntegerRatio;
  await expect(openCache(tokenKeys(), { queryHeads: Hq, kvHeads: Hk })).rejects.toMatchObject({
    code: 'GEOMETRY_INVALID',
    value: { queryHeads: Hq, kvHeads: Hk },
    valid: `queryHeads a multiple of ${Hk}`,
  });
});

it('has a sample among its ratios', () => {
  const { Hq, Hk } = expected.sample;
  expect(input.ratios_HqHk).toContainEqual([Hq, Hk]);
});
