// Case shape-k-v-dims-differ: keys and values of different width.
import { expect, it } from 'vitest';
import {
  expectedPattern,
  inPointerUnits,
  maxAbsDifference,
  POINTER_FORMAT,
  tokenIdRange,
} from '../../src/testing/index.js';
import { someExactSchemes } from '../support/exact-schemes.js';
import {
  appendIds,
  expectContents,
  openCache,
  pointAt,
  TOLERANCE,
} from '../support/pointer-cache.js';
import { scheme } from '../support/schemes.js';
import { loadCase } from '../testing/load-case.js';

const { input } = loadCase<
  { pairs_DkDv: [number, number][]; shape: { Hq: number; Hk: number; T: number } },
  unknown
>('shape-k-v-dims-differ');
const { Hq, Hk, T } = input.shape;

it.each(input.pairs_DkDv)('keys %i wide, values %i wide', async (keyHeadDim, valueHeadDim) => {
  for (const { scheme: spec } of someExactSchemes([0, 32])) {
    const cache = await openCache(spec, { queryHeads: Hq, kvHeads: Hk, keyHeadDim, valueHeadDim });
    const sequence = cache.createSequence();
    await appendIds(cache, sequence, tokenIdRange(0, T));
    const targets = tokenIdRange(0, Hq).map((head) => (3 * head) % T);
    const result = await cache
      .attend(0, pointAt(cache, targets), [sequence], { logSumExp: true })
      .read();
    expect(result.output.shape).toEqual([1, Hq, valueHeadDim]);
    const patterns = targets.flatMap((id) => [
      ...expectedPattern(id, { kvHead: 0, headDim: valueHeadDim }),
    ]);
    expect(maxAbsDifference(inPointerUnits(result.output.data), patterns)).toBeLessThanOrEqual(
      TOLERANCE,
    );
    // The one matching key has the logit q.k / sqrt(Dk), and nothing else counts.
    const logit =
      POINTER_FORMAT.queryAmplitude * POINTER_FORMAT.keyAmplitude * Math.sqrt(keyHeadDim);
    for (const value of Array.from(result.logSumExp?.data ?? []))
      expect(value / logit).toBeCloseTo(1, 6);
    await expectContents(cache, sequence, tokenIdRange(0, T));
  }
});

it('names both dims when the groups divide only one', async () => {
  const spec = scheme({ key: { size: 64 }, value: { size: 64 } });
  await expect(openCache(spec, { keyHeadDim: 64, valueHeadDim: 96 })).rejects.toMatchObject({
    code: 'SHAPE_UNSUPPORTED',
    value: { groupSize: 64, headDim: 96 },
    message: expect.stringContaining('values'),
  });
});
