// What errors say of data that cannot be stored: the place in the sequence, whoever found it.
import { expect, it } from 'vitest';
import { createPlan, nonFiniteError, outlierCapacityError } from '../src/index.js';
import { asymmetric, bands, inlineCalibration, inlineScheme } from '../src/testing/index.js';

const rows = [
  { sequence: 4, position: 10, count: 3 },
  { sequence: 1, position: 0, count: 2 },
];

it.each([
  [0, { sequence: 4, head: 0, token: 10, channel: 0 }],
  [2 * 16 + 8 + 5, { sequence: 4, head: 1, token: 12, channel: 5 }],
  [3 * 16, { sequence: 1, head: 0, token: 0, channel: 0 }],
  [4 * 16 + 15, { sequence: 1, head: 1, token: 1, channel: 7 }],
])('element %i is not finite', (element, where) => {
  const place = { tensor: 'value', layer: 7, rows, shape: [5, 2, 8], element } as const;
  expect(nonFiniteError(place)).toMatchObject({
    code: 'NON_FINITE',
    summary: 'a value is not finite in f16',
    value: `element ${element}`,
    valid: 'finite numbers up to 65504 in magnitude',
    next: expect.stringContaining("nonFinite: 'mask'"),
    where: { tensor: 'value', layer: 7, ...where },
  });
  expect(nonFiniteError({ ...place, value: 70_000 }).value).toBe(70_000);
});

it('a head has more outliers than there is room for', () => {
  const scheme = inlineScheme({
    key: bands('midRise', 'head', 24),
    value: asymmetric(4, 'tokens', 32),
  });
  const shape = { layers: 1, queryHeads: 2, kvHeads: 2, keyHeadDim: 64, valueHeadDim: 64 };
  const calibration = inlineCalibration(scheme, shape)!;
  const { key } = createPlan(scheme, shape, { calibration }).layers[0]!;
  const capacity = key.layout!.sparse!.entries.capacity;
  expect(capacity).toBeGreaterThan(0);
  const error = outlierCapacityError(key, 1, 7);
  expect(error).toMatchObject({
    code: 'OUTLIER_CAPACITY',
    summary: 'a block has more outliers than there is room for',
    value: `more than ${capacity}`,
    valid: `at most ${capacity} in ${key.layout!.blockTokens} tokens of a head (reserve 24 per 64 channels)`,
    next: expect.stringContaining('Raise outliers.storage.reserve (64 holds everything)'),
  });
  expect(error.where).toEqual({ tensor: 'key', layer: 7, head: 1 });
  // Of a head of the model, where a plan has some of its heads; the law knows no layer.
  expect(outlierCapacityError({ ...key, headNumbers: [4, 6] }, 1).where).toEqual({
    tensor: 'key',
    head: 6,
  });
});
