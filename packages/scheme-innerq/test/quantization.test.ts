// What InnerQ stores: the worked examples, errors on normal data, key normalisation, bits per element.
import { readFileSync } from 'node:fs';
import {
  bitsPerElement,
  createPlan,
  encodeF16,
  paperBitsPerElement,
  type Scheme,
} from '@lowbit-kv/core';
import { lcgNormal, maxAbsDifference } from '@lowbit-kv/core/testing';
import { describe, expect, test } from 'vitest';
import { DrivenCache, relativeRmse } from '../../core/test/support/driven-cache.js';
import { type InnerqCodes, innerq, innerqBase, innerqHybrid, innerqSmall } from '../src/index.js';

const vectors = JSON.parse(
  readFileSync(new URL('../../../fixtures/spec-vectors.json', import.meta.url), 'utf8'),
);
const packAtOnce = { sinks: 0, recent: 0, normalizeKeys: false } as const;

/** Decoded values of channel 0 when it holds `group` over 32 tokens, repeated to fill it. */
async function decodeGroup(scheme: Scheme, group: readonly number[]): Promise<number[]> {
  const value = new Float32Array(32 * 32);
  for (let token = 0; token < 32; token++)
    value[token * 32] = group[token % group.length] as number;
  const cache = await DrivenCache.open(scheme, { tokens: 32, value: encodeF16(value) });
  await cache.append(32);
  expect((await cache.windows()).value.packed).toBe(32);
  const decoded = (await cache.materialize()).value;
  return Array.from(group, (_, token) => decoded[token * 32] as number);
}

describe('worked examples', () => {
  const ramp = [-2, -1, -0.4, 0.1, 0.6, 1.2, 1.9, 3];

  test.each<[InnerqCodes, number[]]>([
    ['signmag', [-2, -1, 0, 0, 1, 1, 2, 3]],
    // 3.0 is clipped: the largest positive code is 3 x 0.75.
    ['full', [-3, -1, -1, 0, 1, 2, 3, 3].map((code) => code * 0.75)],
    // The scale is -0.75 and 3.0 lands on code -4.
    ['fullSigned', [3, 1, 1, 0, -1, -2, -3, -4].map((code) => code * -0.75)],
  ])('3 bits, %s', async (codes, expected) => {
    const decoded = await decodeGroup(innerq({ variant: 'base', codes, ...packAtOnce }), ramp);
    expect(decoded.map((x) => x + 0)).toEqual(expected.map((x) => x + 0));
  });

  test.each([
    ['signmag', 'positive_python', 0.382],
    ['full', 'positive_cuda', 0.134],
    ['signmag', 'zero_mean_python', 0.24],
    ['full', 'zero_mean_cuda', 1.04],
  ] as const)('hybrid %s on %s', async (codes, name, absoluteError) => {
    const { x, dequant } = vectors[`innerq_hybrid2_${name}`] as Record<string, number[]>;
    const decoded = await decodeGroup(innerq({ variant: 'hybrid', codes, ...packAtOnce }), x!);
    expect(maxAbsDifference(decoded, dequant!)).toBeLessThan(1e-3);
    const error = x!.reduce((sum, value, i) => sum + Math.abs(value - decoded[i]!), 0);
    expect(Math.abs(error - absoluteError)).toBeLessThan(2e-3);
  });
});

describe('error of values on normal data', () => {
  // Root mean square error over the deviation, numpy, groups of 32.
  const cases: [Scheme, number][] = [
    [innerqBase, 0.19],
    [innerq({ variant: 'base', codes: 'signmag' }), 0.227],
    [innerq({ variant: 'base', codes: 'fullSigned' }), 0.175],
    [innerqSmall, 0.392],
    [innerq({ variant: 'small', codes: 'signmag' }), 0.658],
    [innerq({ variant: 'small', codes: 'fullSigned' }), 0.363],
    [innerqHybrid, 0.37],
    [innerq({ variant: 'hybrid', codes: 'signmag' }), 0.658],
  ];
  const tokens = 1152;
  const first = 32 * 64;
  const end = (tokens - 96) * 64;

  test.each(cases)('$id', async (scheme, theory) => {
    const cache = await DrivenCache.open(scheme, { tokens, headDim: 64 });
    await cache.append(tokens);
    const { value } = cache.original();
    const decoded = (await cache.materialize()).value;
    expect(Math.abs(relativeRmse(decoded, value, first, end) / theory - 1)).toBeLessThan(0.02);
    expect(decoded.subarray(0, first)).toEqual(value.subarray(0, first));
    expect(decoded.subarray(end)).toEqual(value.subarray(end));
  });

  // Keys have 3 bits in every variant; on alike channels the normaliser stays out.
  test.each(cases.slice(0, 3))('keys of $id', async (scheme, theory) => {
    const cache = await DrivenCache.open(scheme, { tokens, headDim: 64 });
    await cache.append(tokens);
    const { key } = cache.original();
    const decoded = (await cache.materialize()).key;
    expect(Math.abs(relativeRmse(decoded, key, first, end) / theory - 1)).toBeLessThan(0.02);
  });
});

describe('key normalisation', () => {
  const loud = lcgNormal({
    seed: 31,
    shape: [320, 32],
    dtype: 'f16',
    channelOps: [
      { channel: 4, mul: 16, add: 0 },
      { channel: 20, mul: 25, add: 0 },
    ],
  });
  const errorOfQuietKeys = async (normalizeKeys: boolean) => {
    const cache = await DrivenCache.open(innerq({ variant: 'base', normalizeKeys }), {
      tokens: 320,
      key: loud,
    });
    await cache.append(320);
    const quiet = (values: Float32Array) =>
      values.subarray(32 * 32, 224 * 32).filter((_, i) => i % 32 !== 4 && i % 32 !== 20);
    const original = quiet(cache.original().key);
    const decoded = quiet((await cache.materialize()).key);
    return relativeRmse(decoded, original, 0, original.length);
  };

  test('loud channels spoil their neighbours less', async () => {
    const [plain, normalised] = [await errorOfQuietKeys(false), await errorOfQuietKeys(true)];
    expect(plain).toBeGreaterThan(0.9);
    expect(normalised).toBeLessThan(0.75 * plain);
  });

  test('attention multiplies it back on the query', async () => {
    const cache = await DrivenCache.open(innerqBase, { tokens: 320, key: loud });
    await cache.append(320);
    const query = lcgNormal({ seed: 6, shape: [2, 32], dtype: 'f32', std: 0.3 });
    const { key, value } = await cache.materialize();
    const expected = cache.expectedAttention(query, key, value);
    expect(maxAbsDifference(await cache.attend(query), expected)).toBeLessThan(1e-5);
    expect(expected.some((x) => Math.abs(x) > 0.05)).toBe(true);
  });
});

test('bits per element: 3.5, 3.0, 3.25', () => {
  const shape = { kvHeads: 8, headDim: 128 };
  const geometry = { layers: 2, queryHeads: 32, kvHeads: 8, keyHeadDim: 128, valueHeadDim: 128 };
  for (const [scheme, bits] of [
    [innerqBase, 3.5],
    [innerqSmall, 3],
    [innerqHybrid, 3.25],
  ] as const) {
    const paper = [scheme.key, scheme.value].map((tensor) => paperBitsPerElement(tensor, shape));
    expect((paper[0]! + paper[1]!) / 2).toBe(bits);
    expect(bitsPerElement(createPlan(scheme, geometry)).all.total).toBe(bits);
  }
  expect(paperBitsPerElement(innerq({ variant: 'small', codes: 'fullSigned' }).value, shape)).toBe(
    2.5,
  );
});
