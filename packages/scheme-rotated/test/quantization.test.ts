// Errors on normal data, what rotation and centring are for, attention on the packed cache, windows, bits, head dims.
import {
  bitsPerElement,
  createPlan,
  defineScheme,
  paperBitsPerElement,
  type Scheme,
} from '@lowbit-kv/core';
import { lcgNormal, maxAbsDifference } from '@lowbit-kv/core/testing';
import { describe, expect, test } from 'vitest';
import { DrivenCache, relativeRmse } from '../../core/test/support/driven-cache.js';
import { presets, rotated, rotated2, rotated3, rotated4, rotated4Symmetric } from '../src/index.js';

const TOKENS = 512;

async function keyError(scheme: Scheme, key: Uint16Array, tokens: number, headDim: number) {
  const cache = await DrivenCache.open(scheme, { tokens, headDim, key });
  await cache.append(tokens);
  const original = cache.original().key;
  return relativeRmse((await cache.materialize()).key, original, 0, original.length);
}

describe('error on normal data', () => {
  // Root mean square error over the deviation, normal data in groups of 32, f16 parameters: test/normal-error.py.
  const cases: [Scheme, number][] = [
    [rotated2, 0.3929],
    [rotated3, 0.1677],
    [rotated4, 0.0782],
    [rotated4Symmetric, 0.0859],
  ];
  test.each(cases)('$id', async (scheme, theory) => {
    const cache = await DrivenCache.open(scheme, { tokens: TOKENS, headDim: 128, kvHeads: 2 });
    await cache.append(TOKENS);
    const original = cache.original();
    const decoded = await cache.materialize();
    for (const tensor of ['key', 'value'] as const) {
      const { length } = original[tensor];
      const error = relativeRmse(decoded[tensor], original[tensor], 0, length);
      expect(Math.abs(error / theory - 1)).toBeLessThan(0.02);
    }
  });
});

test.each([rotated2, rotated3, rotated4])('$id: one loud channel costs nothing', async (scheme) => {
  const loud = [{ channel: 3, mul: 16, add: 0 }];
  const shape = [TOKENS, 128];
  const mild = lcgNormal({ seed: 7, shape, dtype: 'f16' });
  const key = lcgNormal({ seed: 7, shape, dtype: 'f16', channelOps: loud });
  const plain = defineScheme({ ...scheme, key: { ...scheme.key, transforms: [] } as never });
  // In channels other than the loud one, where groups without rotation lose everything.
  const quietError = async (tested: Scheme) => {
    const cache = await DrivenCache.open(tested, { tokens: TOKENS, headDim: 128, key });
    await cache.append(TOKENS);
    const quiet = (values: Float32Array) =>
      values.filter((_, i) => i % 128 > 0 && i % 128 < 32 && i % 128 !== 3);
    const original = quiet(cache.original().key);
    return relativeRmse(quiet((await cache.materialize()).key), original, 0, original.length);
  };
  expect(await keyError(scheme, key, TOKENS, 128)).toBeLessThan(
    1.05 * (await keyError(scheme, mild, TOKENS, 128)),
  );
  expect(await quietError(plain)).toBeGreaterThan(1.5 * (await quietError(scheme)));
});

test('centered keys forget a large constant; rotated ones alone do not', async () => {
  const channelOps = [5, 20, 33, 60].map((channel) => ({ channel, mul: 1, add: 10 }));
  const key = lcgNormal({ seed: 8, shape: [TOKENS, 64], dtype: 'f16', channelOps });
  const noise = async (scheme: Scheme) => {
    const cache = await DrivenCache.open(scheme, { tokens: TOKENS, headDim: 64, key });
    await cache.append(TOKENS);
    const original = cache.original().key;
    const decoded = (await cache.materialize()).key;
    return Math.sqrt(decoded.reduce((sum, x, i) => sum + (x - original[i]!) ** 2, 0) / key.length);
  };
  const centered = await noise(rotated({ bits: 4, centered: 'keys' }));
  expect(centered).toBeLessThan(0.083);
  expect(await noise(rotated4)).toBeGreaterThan(1.15 * centered);
});

test.each(presets)('$id: attention agrees with float64 over what it decodes to', async (scheme) => {
  const cache = await DrivenCache.open(scheme, { tokens: 301, kvHeads: 2, headDim: 64 });
  await cache.append(300);
  await cache.append(1);
  const query = lcgNormal({ seed: 5, shape: [4, 64], dtype: 'f32', std: 2 });
  const actual = await cache.attend(query);
  const decoded = await cache.materialize();
  const expected = cache.expectedAttention(query, decoded.key, decoded.value);
  expect(maxAbsDifference(actual, expected)).toBeLessThan(1e-5);
  // The same query over the originals differs by far more: the packed state was read.
  const original = cache.original();
  const exact = cache.expectedAttention(query, original.key, original.value);
  expect(maxAbsDifference(actual, exact)).toBeGreaterThan(0.01);
});

test('windows', async () => {
  const bare = await DrivenCache.open(rotated4, { tokens: 33 });
  await bare.append(33);
  const all = { packed: 33, tail: 0, sinks: 0 };
  expect(await bare.windows()).toEqual({ key: all, value: all });

  const scheme = rotated({ bits: 3, centered: 'keys', sinks: 32, recent: 96 });
  const cache = await DrivenCache.open(scheme, { tokens: 200 });
  await cache.append(159);
  // One token short of the statistics of the keys; values wait for nothing.
  expect(await cache.windows()).toEqual({
    key: { packed: 0, tail: 127, sinks: 32 },
    value: { packed: 31, tail: 96, sinks: 32 },
  });
  await cache.decodeTo(200);
  const rest = { packed: 72, tail: 96, sinks: 32 };
  expect(await cache.windows()).toEqual({ key: rest, value: rest });
});

test('bits per element', () => {
  const shape = { kvHeads: 8, headDim: 128 };
  const geometry = { layers: 2, queryHeads: 32, kvHeads: 8, keyHeadDim: 128, valueHeadDim: 128 };
  const cases: [Scheme, number][] = [
    [rotated4, 5],
    [rotated4Symmetric, 4.5],
    [rotated3, 4],
    [rotated2, 3],
    [rotated({ bits: 2, groupSize: 128 }), 2.25],
    [rotated({ bits: 3, groupSize: 64, quantizer: 'symmetric' }), 3.25],
  ];
  for (const [scheme, bits] of cases) {
    expect(paperBitsPerElement(scheme.key, shape)).toBe(bits);
    expect(bitsPerElement(createPlan(scheme, geometry)).all.total).toBe(bits);
  }
});

describe('head dims', () => {
  test('no power of two', async () => {
    await expect(DrivenCache.open(rotated4, { tokens: 8, headDim: 96 })).rejects.toMatchObject({
      code: 'SHAPE_UNSUPPORTED',
      message: expect.stringContaining('Hadamard'),
    });
  });

  test('groups wider than the head', async () => {
    const wide = rotated({ bits: 2, groupSize: 128 });
    await expect(DrivenCache.open(wide, { tokens: 8, headDim: 64 })).rejects.toMatchObject({
      code: 'SHAPE_UNSUPPORTED',
      message: expect.stringContaining('group size'),
    });
  });
});
