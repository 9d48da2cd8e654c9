// Case num-zero-channel-normaliser: channels that are zero or tiny where the normaliser is measured, and loud later.
import { decodeF16 } from '@lowbit-kv/core';
import { describe, expect, test } from 'vitest';
import { DrivenCache } from '../../core/test/support/driven-cache.js';
import { loadCase } from '../../core/test/testing/load-case.js';
import { type InnerqCodes, innerq } from '../src/index.js';

interface Input {
  readonly shape: { readonly Hk: number; readonly D: number };
}
const { input } = loadCase<Input, unknown>('num-zero-channel-normaliser');
const headDim = input.shape.D;
const [prefill, decode] = [32, 8];
const ONE = 0x3c00;

function keys(loudChannel?: number): Uint16Array {
  const bits = new Uint16Array((prefill + decode) * headDim).fill(ONE);
  for (let token = 0; token < prefill; token++) {
    bits[token * headDim + 3] = 0;
    bits[token * headDim + 9] = 0;
    bits[token * headDim + 12] = 1;
    // 2^-24, the smallest f16, is bit pattern 1; 64 is 0x5400.
    if (loudChannel !== undefined) bits[token * headDim + loudChannel] = 0x5400;
  }
  return bits;
}

async function decodedDots(codes: InnerqCodes, key: Uint16Array) {
  const scheme = innerq({
    variant: 'base',
    codes,
    keyFlush: 1,
    sinks: 0,
    recent: 0,
    statisticsTokens: 32,
  });
  const cache = await DrivenCache.open(scheme, { tokens: prefill + decode, headDim, key });
  await cache.append(prefill);
  await cache.decodeTo(prefill + decode);
  expect((await cache.windows()).key).toEqual({ sinks: 0, packed: prefill + decode, tail: 0 });
  const decoded = (await cache.materialize()).key.subarray(prefill * headDim);
  expect(decoded.every(Number.isFinite)).toBe(true);
  return Array.from({ length: decode }, (_, token) =>
    decoded.subarray(token * headDim, (token + 1) * headDim).reduce((a, b) => a + b, 0),
  );
}

describe('q.k of later keys of ones', () => {
  test.each(['signmag', 'fullSigned'] as const)('%s: 32 within 2 %', async (codes) => {
    for (const dot of await decodedDots(codes, keys()))
      expect(Math.abs(dot / 32 - 1)).toBeLessThan(0.02);
  });

  test('full: the largest positive value of a group is clipped to three quarters', async () => {
    expect(await decodedDots('full', keys())).toEqual(Array(decode).fill(24));
  });
});

test('with the normaliser at work, a floor keeps later keys finite and their loud channels whole', async () => {
  const key = keys(20);
  expect(decodeF16(key)[20]).toBe(64);
  // n of channel 12 is held at 2^-6: its later 1 becomes 64 and owns the scale of the group.
  for (const dot of await decodedDots('fullSigned', key)) {
    expect(dot).toBeGreaterThanOrEqual(1);
    expect(dot).toBeLessThan(64);
  }
});
