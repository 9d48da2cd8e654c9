/**
 * Byte equality on awkward numbers: subnormals, signed zeros, the ends of the range, constants, ties, and far-off means.
 */
import {
  encodeF16,
  f16Tensor,
  type HostTensor,
  type QuantizedTensorScheme,
  roundToF16,
} from '@lowbit-kv/core';
import { E2M1_LEVELS, e4m3Levels } from '@lowbit-kv/core/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  asymmetric,
  bands,
  channelScaled,
  hybrid,
  levelTable,
  offsetLevelTable,
  scheme,
  symmetric,
  withParameters,
  withTop,
} from './support/schemes.js';
import {
  CALIBRATED,
  channelMean,
  channelScale,
  HADAMARD,
  rotation,
  tensorScale,
  transformed,
} from './support/transforms.js';
import { createTwin } from './support/twin.js';

const E2M1 = { levels: E2M1_LEVELS, scaledBy: 'absoluteMaximum' } as const;
const TOKENS = 64;
const HEADS = 2;
const DIM = 64;
const COUNT = TOKENS * HEADS * DIM;

const finiteBits = fc.integer({ min: 0, max: 0xffff }).filter((bits) => (bits & 0x7c00) !== 0x7c00);

function repeated(values: readonly number[]): Uint16Array {
  return encodeF16(Float32Array.from({ length: COUNT }, (_, i) => values[i % values.length] ?? 0));
}

/** Cycles whose lengths share no factor with the groups, so that every group sees another part of them. */
const data: fc.Arbitrary<Uint16Array> = fc.oneof(
  fc
    .array(finiteBits, { minLength: 97, maxLength: 331 })
    .map((bits) => Uint16Array.from({ length: COUNT }, (_, i) => bits[i % bits.length] ?? 0)),
  // Ties: multiples of half a step around an offset.
  fc
    .tuple(
      fc.array(fc.integer({ min: -8, max: 8 }), { minLength: 31, maxLength: 101 }),
      fc.integer({ min: -12, max: 10 }),
      fc.integer({ min: -3, max: 3 }),
    )
    .map(([steps, exponent, offset]) =>
      repeated(steps.map((n) => (n / 2 + offset) * 2 ** exponent)),
    ),
  // Small numbers around the smallest normal f16.
  fc
    .array(fc.integer({ min: -64, max: 64 }), { minLength: 31, maxLength: 101 })
    .map((steps) => repeated(steps.map((n) => n * 2 ** -24))),
  // A mean far from zero.
  fc
    .tuple(
      fc.array(fc.double({ min: -1, max: 1, noNaN: true }), { minLength: 31, maxLength: 101 }),
      fc.constantFrom(-3000, -20, 5, 700),
    )
    .map(([values, mean]) => repeated(values.map((x) => roundToF16(x + mean)))),
  fc.constantFrom(
    repeated([0]),
    repeated([-0, 0, -0]),
    repeated([65504, -65504, 0]),
    repeated([65504, -65504, -65504, 1, 2 ** -24]),
    repeated([1.0009765625]),
    repeated([2 ** -24, -(2 ** -24), 0, 0, 0]),
  ),
);

const pairs: Record<string, readonly [QuantizedTensorScheme, QuantizedTensorScheme]> = {
  'asymmetric 2 and 4 bit': [asymmetric(2, 'tokens', 32), asymmetric(4, 'channels', 32)],
  'asymmetric 1 and 3 bit': [asymmetric(1, 'channels', 16), asymmetric(3, 'tokens', 16)],
  'asymmetric 8 bit': [asymmetric(8, 'tokens', 32), asymmetric(8, 'channels', 64)],
  'signmag 2 and 3 bit': [
    symmetric(3, 'signmag', 'channels', 32),
    symmetric(2, 'signmag', 'tokens', 32),
  ],
  'full 3 bit, fullSigned 2 bit': [
    symmetric(3, 'full', 'tokens', 16),
    symmetric(2, 'fullSigned', 'channels', 32),
  ],
  'fullSigned 4 and 8 bit': [
    symmetric(4, 'fullSigned', 'channels', 32),
    symmetric(8, 'fullSigned', 'tokens', 32),
  ],
  'hybrid full 2 bit, signmag 3 bit': [
    hybrid(2, 'full', 2, 'symmetric', 'tokens', 32),
    hybrid(3, 'signmag', 2, 'asymmetric', 'channels', 32),
  ],
  'hybrid in groups that are no power of two': [
    hybrid(4, 'full', 3, 'asymmetric', 'tokens', 24, { recent: 0, flush: 24 }),
    hybrid(2, 'signmag', 1, 'symmetric', 'channels', 16),
  ],
  'channel scale': [
    channelScaled(symmetric(3, 'signmag', 'channels', 32), 17),
    asymmetric(2, 'channels', 32),
  ],
  'channel scale, asymmetric along tokens': [
    channelScaled(asymmetric(4, 'tokens', 32), 40, 1.2),
    asymmetric(2, 'channels', 32),
  ],
  'channel means, scales and rotations': [
    transformed(asymmetric(3, 'tokens', 16), channelMean(21), channelScale(21), HADAMARD),
    transformed(symmetric(4, 'fullSigned', 'channels', 32), HADAMARD, channelMean(64)),
  ],
  'channel scales after means, scales of values': [
    transformed(asymmetric(4, 'tokens', 32), channelMean(40), channelScale(40, 1.2)),
    transformed(asymmetric(2, 'channels', 32), channelScale(1), HADAMARD, channelScale(1)),
  ],
  'tensor scales, clear means and signed rotations': [
    transformed(asymmetric(4, 'channels', 32), tensorScale(33, 448), channelMean(33, 0.25)),
    transformed(symmetric(3, 'full', 'tokens', 16), rotation(99), tensorScale(12, 6)),
  ],
  'calibrated scales, means and orders': [
    transformed(asymmetric(4, 'tokens', 32), ...CALIBRATED),
    transformed(symmetric(3, 'fullSigned', 'channels', 16), ...CALIBRATED.toReversed()),
  ],
  'e4m3 and f32 scales': [
    withParameters(asymmetric(3, 'tokens', 32), { scale: 'e4m3', zero: 'f32' }),
    withParameters(symmetric(4, 'fullSigned', 'channels', 32), { scale: 'f32' }),
  ],
  'e8m0 scales, f32 parameters of hybrid groups': [
    withParameters(levelTable(4, E2M1, 'channels', 32), { scale: 'e8m0' }),
    withParameters(hybrid(2, 'signmag', 1, 'asymmetric', 'tokens', 32), {
      scale: 'f32',
      zero: 'f32',
    }),
  ],
  'e4m3 scales of transformed tables': [
    transformed(
      withParameters(levelTable(4, E2M1, 'channels', 16), { scale: 'e4m3' }),
      tensorScale(40, 448 * 6),
    ),
    transformed(
      withParameters(levelTable(4, { ...E2M1, scaledBy: 'rootMeanSquare' }, 'tokens', 24), {
        scale: 'e4m3',
      }),
      channelMean(24),
    ),
  ],
  'tables without a scale and over a zero': [
    levelTable(8, { levels: e4m3Levels(), scaledBy: 'none' }, 'channels', 32),
    offsetLevelTable(3, [0, 0.1, 0.3, 0.6, 1, 1.7], 'tokens', 16),
  ],
  'top outliers': [
    withTop(asymmetric(2, 'tokens', 32), 3),
    withTop(symmetric(3, 'fullSigned', 'channels', 32), 1),
  ],
  'top outliers of hybrid groups and of tables': [
    withTop(hybrid(2, 'full', 2, 'symmetric', 'channels', 16), 20),
    withTop(levelTable(4, { ...E2M1, scaledBy: 'rootMeanSquare' }, 'tokens', 16), 2),
  ],
  'top outliers of transformed values': [
    transformed(withTop(asymmetric(3, 'tokens', 16), 2), channelMean(21), channelScale(21)),
    transformed(withTop(offsetLevelTable(2, [0, 0.3, 1], 'channels', 32), 4), HADAMARD),
  ],
  'bands per head': [bands('midRise', 'head'), bands('uniform', 'head')],
  'bands over all heads': [bands('uniform', 'allHeads'), bands('midRise', 'allHeads')],
};

describe('bytes of awkward numbers', () => {
  it.each(Object.entries(pairs))('%s', async (_, [key, value]) => {
    const twin = await createTwin(
      scheme({ key, value }),
      { layers: 1, queryHeads: HEADS, kvHeads: HEADS, keyHeadDim: DIM, valueHeadDim: DIM },
      { tokens: TOKENS, sequences: 2, blockTokens: TOKENS },
    );
    const tensor = (bits: Uint16Array): HostTensor => f16Tensor(bits, [TOKENS, HEADS, DIM]);
    try {
      await fc.assert(
        fc.asyncProperty(data, data, async (keys, values) => {
          const pair = twin.createPair();
          try {
            await twin.append(pair, tensor(keys), tensor(values));
            expect(await twin.compareBlocks(pair)).toBe(2);
          } finally {
            twin.reference.disposeSequence(pair.reference);
            twin.subject.disposeSequence(pair.subject);
          }
        }),
        { numRuns: 20, seed: 4096 },
      );
    } finally {
      twin.dispose();
    }
  });
});
