// The BitDecoding rule on a real cache: keys and values both keep `length mod 128` tokens, packed after attention.
import { describe, expect, test } from 'vitest';
import { type Scheme, windowCounts } from '../../src/index.js';
import { DrivenCache } from '../support/driven-cache.js';

const affine = {
  bits: 4,
  quantizer: { mode: 'asymmetric', codes: 'uniform' },
  parameters: { scale: 'f16', zero: 'f16' },
  window: { recent: 0, flush: 128 },
} as const;
const scheme: Scheme = {
  specVersion: 1,
  id: 'shared-residual',
  title: 'Keys per channel, values per token, one residual block',
  sinks: 0,
  packing: 'after-attention',
  key: { ...affine, groups: { along: 'tokens', size: 128 } },
  value: { ...affine, groups: { along: 'channels', size: 32 } },
  calibration: { kind: 'none' },
};

describe.each([
  [300, 256, 44],
  [383, 256, 127],
  [384, 384, 0],
  [128, 128, 0],
  [127, 0, 127],
])('%i tokens', (length, packed, tail) => {
  const expected = { sinks: 0, packed, tail };

  test.each([
    ['in one prompt', length],
    ['token by token', 1],
    ['in chunks of 50', 50],
  ])('%s', async (_name, chunk) => {
    const cache = await DrivenCache.open(scheme, { tokens: length });
    while (cache.length < length) await cache.append(Math.min(chunk, length - cache.length));
    expect(await cache.windows()).toEqual({ key: expected, value: expected });
    for (const pageClass of cache.plan.classes)
      expect(windowCounts(pageClass, length)).toEqual(expected);
  });
});
