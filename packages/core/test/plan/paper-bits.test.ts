// Bits per element as the papers count them. The published figures of each scheme are tested in its own package.
import { describe, expect, test } from 'vitest';
import {
  paperBitsPerElement,
  type QuantizedTensorScheme,
  type TensorScheme,
} from '../../src/index.js';
import { E2M1_LEVELS, levelTable, withParameters } from '../../src/testing/index.js';

const E2M1 = { levels: E2M1_LEVELS, scaledBy: 'absoluteMaximum' } as const;
const shape = { kvHeads: 8, headDim: 128 };
const window = { recent: 0, flush: 128 };
const affine = (bits: 2 | 4, groups: QuantizedTensorScheme['groups']): QuantizedTensorScheme => ({
  bits,
  groups,
  quantizer: { mode: 'asymmetric', codes: 'uniform' },
  parameters: { scale: 'f16', zero: 'f16' },
  window,
});

test.each<[string, TensorScheme, number]>([
  ['f16', { bits: 16 }, 16],
  ['2-bit pairs of f16 per 128', affine(2, { along: 'tokens', size: 128 }), 2.25],
  ['4-bit pairs of f16 per 128', affine(4, { along: 'tokens', size: 128 }), 4.25],
  ['4-bit per token and head (QServe)', affine(4, { along: 'vector', scope: 'head' }), 4.25],
  ['4-bit per token', affine(4, { along: 'vector', scope: 'allHeads' }), 4 + 32 / 1024],
  ['e8m0 per 32', withParameters(levelTable(4, E2M1, 'channels', 32), { scale: 'e8m0' }), 4.25],
  ['e4m3 per 16', withParameters(levelTable(4, E2M1, 'channels', 16), { scale: 'e4m3' }), 4.5],
  ['no parameters', levelTable(4, { ...E2M1, scaledBy: 'none' }, 'channels', 16), 4],
  [
    'e4m3 and f32 per 32',
    withParameters(affine(4, { along: 'channels', size: 32 }), { scale: 'e4m3', zero: 'f32' }),
    5.25,
  ],
  [
    'groups of a codec',
    {
      ...affine(2, { along: 'channels', size: 40 }),
      quantizer: { mode: 'codec', codes: 'fives', version: 1, groupBytes: 10 },
      parameters: {},
    },
    2,
  ],
])('%s', (_name, scheme, bits) => {
  expect(paperBitsPerElement(scheme, shape)).toBe(bits);
});

describe('outliers', () => {
  const bands: QuantizedTensorScheme = {
    ...affine(4, { along: 'vector', scope: 'allHeads' }),
    outliers: {
      kind: 'bands',
      shares: { outer: 0.04, middle: 0.9, inner: 0.06 },
      groupShift: true,
      outlierBits: 5,
      storage: { format: 'coo64', reserve: 64 },
    },
  };

  test('a measured share replaces the one aimed at', () => {
    expect(paperBitsPerElement(bands, shape)).toBeCloseTo(4 + 0.8 + 96 / 1024, 12);
    expect(paperBitsPerElement(bands, { ...shape, outlierShare: 0.25 })).toBe(6 + 96 / 1024);
  });

  test('sparse f16 outliers: a value and a channel each', () => {
    const top: QuantizedTensorScheme = {
      ...affine(4, { along: 'vector', scope: 'head' }),
      outliers: { kind: 'top', count: 2, storage: { format: 'list' } },
    };
    expect(paperBitsPerElement(top, { kvHeads: 8, headDim: 128 })).toBe(4 + (32 + 2 * 24) / 128);
    expect(paperBitsPerElement(top, { kvHeads: 8, headDim: 512 })).toBe(4 + (32 + 2 * 32) / 512);
  });
});
