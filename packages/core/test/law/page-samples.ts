/**
 * Random packed pages for the tests of encoding, layout and canonical form.
 */
import fc from 'fast-check';
import type { PackedTensorPlan } from '../../src/law/encode.js';
import type { QuantizedTensorScheme, Quantizer } from '../../src/scheme.js';
import {
  sharedExponentCodec,
  withSharedExponent,
  withTop,
  withTypes,
} from '../../src/testing/index.js';
import { bandScheme, groupScheme, planOf } from './support.js';

export const QUANTIZERS: readonly (readonly [string, Quantizer, readonly (1 | 2 | 3 | 4 | 8)[]])[] =
  [
    ['asymmetric', { mode: 'asymmetric', codes: 'uniform' }, [1, 2, 3, 4, 8]],
    ['signmag', { mode: 'symmetric', codes: 'signmag' }, [2, 3, 4, 8]],
    ['full', { mode: 'symmetric', codes: 'full' }, [1, 2, 3, 4, 8]],
    ['fullSigned', { mode: 'symmetric', codes: 'fullSigned' }, [1, 2, 3, 4, 8]],
    [
      'hybrid full',
      { mode: 'hybrid', codes: 'full', asymmetricBits: 2, norm: 'l1', tie: 'symmetric' },
      [2, 3, 4],
    ],
    [
      'hybrid signmag',
      { mode: 'hybrid', codes: 'signmag', asymmetricBits: 1, norm: 'l1', tie: 'asymmetric' },
      [2, 3],
    ],
    [
      'levels by magnitude',
      { mode: 'symmetric', codes: { levels: [-1, 0, 1], scaledBy: 'absoluteMaximum' } },
      [2, 3, 4, 8],
    ],
    [
      'levels by root mean square',
      {
        mode: 'symmetric',
        codes: { levels: [-1.5104, -0.4528, 0.4528, 1.5104], scaledBy: 'rootMeanSquare' },
      },
      [2, 4],
    ],
    [
      'levels as they are',
      { mode: 'symmetric', codes: { levels: [-2, -0.5, 0.25, 3], scaledBy: 'none' } },
      [2, 3],
    ],
    [
      'levels over a zero',
      { mode: 'asymmetric', codes: { levels: [0, 0.1, 0.3, 1], scaledBy: 'absoluteMaximum' } },
      [2, 4],
    ],
    [
      'a table of 200 levels',
      {
        mode: 'symmetric',
        codes: {
          levels: Array.from({ length: 200 }, (_, i) => (i - 90) ** 3 / 1e4),
          scaledBy: 'absoluteMaximum',
        },
      },
      [8],
    ],
  ];

/** A group scheme of one of the widths of its quantizer, sometimes with other parameters than f16 or with outliers. */
function sampleScheme(
  [, quantizer, widths]: (typeof QUANTIZERS)[number],
  along: 'tokens' | 'channels',
  size: number,
  width: number,
  pick: number,
  headDim: number,
): QuantizedTensorScheme {
  const bits = widths[width % widths.length]!;
  const plain = groupScheme(bits, along, size, quantizer);
  const scheme = pick % 2 === 0 ? plain : withTypes(plain, Math.floor(pick / 2));
  if (pick % 3 !== 0) return scheme;
  return withTop(scheme, Math.min(headDim, 1 + (Math.floor(pick / 3) % 4)));
}

export const THRESHOLDS = { outerLow: -1.75, innerLow: -0.125, innerHigh: 0.125, outerHigh: 1.5 };

const heads = fc.integer({ min: 1, max: 3 });

const alongTokens = fc
  .record({
    quantizer: fc.constantFrom(...QUANTIZERS),
    size: fc.constantFrom(8, 16, 32),
    groups: fc.integer({ min: 1, max: 4 }),
    headDim: fc.integer({ min: 1, max: 20 }),
    heads,
    width: fc.nat(),
    pick: fc.nat(),
  })
  .map(({ quantizer, size, groups, headDim, heads: count, width, pick }) => ({
    scheme: sampleScheme(quantizer, 'tokens', size, width, pick, headDim),
    shape: { heads: count, headDim, blockTokens: groups * size },
  }));

const alongChannels = fc
  .record({
    quantizer: fc.constantFrom(...QUANTIZERS),
    size: fc.integer({ min: 1, max: 20 }),
    groups: fc.integer({ min: 1, max: 4 }),
    blockTokens: fc.integer({ min: 1, max: 12 }),
    heads,
    width: fc.nat(),
    pick: fc.nat(),
  })
  .map(({ quantizer, size, groups, blockTokens, heads: count, width, pick }) => ({
    scheme: sampleScheme(quantizer, 'channels', size, width, pick, groups * size),
    shape: { heads: count, headDim: groups * size, blockTokens },
  }));

const vectors = fc
  .record({
    quantizer: fc.constantFrom(...QUANTIZERS),
    headDim: fc.integer({ min: 1, max: 70 }),
    blockTokens: fc.integer({ min: 1, max: 12 }),
    heads,
    width: fc.nat(),
    pick: fc.nat(),
  })
  .map(({ quantizer, headDim, blockTokens, heads: count, width, pick }) => ({
    scheme: {
      ...sampleScheme(quantizer, 'channels', 1, width, pick, headDim),
      groups: { along: 'vector', scope: 'head' },
    } as QuantizedTensorScheme,
    shape: { heads: count, headDim, blockTokens },
  }));

const bands = fc
  .record({
    middle: fc.constantFrom('midRise', 'uniform'),
    scope: fc.constantFrom('head', 'allHeads'),
    headDim: fc.integer({ min: 1, max: 140 }),
    blockTokens: fc.integer({ min: 1, max: 9 }),
    heads,
  })
  .map(({ middle, scope, headDim, blockTokens, heads: count }) => ({
    scheme: bandScheme(middle, scope),
    shape: { heads: count, headDim, blockTokens, thresholds: THRESHOLDS },
  }));

const codecs = fc
  .record({
    along: fc.constantFrom('tokens', 'channels', 'vector' as const),
    size: fc.constantFrom(8, 16, 24),
    groups: fc.integer({ min: 1, max: 4 }),
    others: fc.integer({ min: 1, max: 12 }),
    heads,
  })
  .map(({ along, size, groups, others, heads: count }) => ({
    scheme: withSharedExponent(
      along === 'vector' ? { along, scope: 'head' } : { along: along as 'tokens', size },
      size,
    ),
    shape: {
      heads: count,
      headDim: { tokens: others, channels: groups * size, vector: size }[along as 'tokens'],
      blockTokens: along === 'tokens' ? groups * size : others,
      codecs: [sharedExponentCodec(size)],
    },
  }));

/** A packed tensor of any kind the law executes. */
export const anyPlan: fc.Arbitrary<PackedTensorPlan> = fc
  .oneof(alongTokens, alongChannels, vectors, bands, codecs)
  .map(({ scheme, shape }) => planOf(scheme, shape));

/** As anyPlan, without outlier bands and codecs. */
export const groupPlan: fc.Arbitrary<PackedTensorPlan> = fc
  .oneof(alongTokens, alongChannels, vectors)
  .map(({ scheme, shape }) => planOf(scheme, shape));
