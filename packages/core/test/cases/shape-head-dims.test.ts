// Case shape-head-dims: every head dim and group size either works to the bit or is refused before anything is allocated.
import { describe, expect, it } from 'vitest';
import { createPlan, type Geometry, type Scheme } from '../../src/index.js';
import { tokenIdRange } from '../../src/testing/index.js';
import { bothAlongTokens } from '../support/exact-schemes.js';
import {
  appendIds,
  expectMean,
  expectMean32,
  expectPattern,
  openCache,
} from '../support/pointer-cache.js';
import { channelKeys, tokenKeys } from '../support/schemes.js';
import { loadCase } from '../testing/load-case.js';

interface Input {
  headDims: number[];
  shape: { Hq: number; Hk: number; T: number };
  groupSizes: number[];
  bits: (2 | 3 | 4)[];
  queries: { pointTo: number[] };
}
const { input, expected } = loadCase<
  Input,
  Record<'zeroQueryMean32_head0' | 'zeroQueryMean32_kvHead1', number[]>
>('shape-head-dims');
const { Hq, Hk, T } = input.shape;

const arrangements: [string, (bits: 2 | 3 | 4, size: number) => Scheme, boolean][] = [
  ['token keys, channel values', (bits, size) => tokenKeys({ bits, size }), true],
  ['channel keys, token values', (bits, size) => channelKeys({ bits, size }), true],
  ['both along tokens', (bits, size) => bothAlongTokens(bits, size), false],
];

describe.each(arrangements)('%s', (_name, schemeOf, alongChannels) => {
  it.each(input.headDims)('head dim %i', async (headDim) => {
    const geometry: Geometry = {
      layers: 1,
      queryHeads: Hq,
      kvHeads: Hk,
      keyHeadDim: headDim,
      valueHeadDim: headDim,
    };
    for (const size of input.groupSizes) {
      for (const bits of input.bits) {
        const scheme = schemeOf(bits, size);
        if (alongChannels && headDim % size !== 0) {
          expect(() => createPlan(scheme, geometry)).toThrow(
            expect.objectContaining({
              code: 'SHAPE_UNSUPPORTED',
              value: { groupSize: size, headDim },
              valid: expect.stringContaining(`${headDim}`),
            }),
          );
          continue;
        }
        const cache = await openCache(scheme, geometry, { capacity: { tokens: T } });
        const sequence = cache.createSequence();
        await appendIds(cache, sequence, tokenIdRange(0, T));
        await expectMean(cache, sequence, tokenIdRange(0, T));
        await expectMean32(cache, sequence, expected.zeroQueryMean32_head0, 0);
        await expectMean32(cache, sequence, expected.zeroQueryMean32_kvHead1, 1);
        for (const id of input.queries.pointTo) await expectPattern(cache, sequence, id);
      }
    }
  });
});
