// Errors on normal data against theory, what the rotation is for, attention on the packed cache, windows, bits, head dims.
import {
  bitsPerElement,
  createPlan,
  defineScheme,
  encodeF16,
  paperBitsPerElement,
  type Scheme,
} from '@lowbit-kv/core';
import { lcgNormal, maxAbsDifference } from '@lowbit-kv/core/testing';
import { describe, expect, test } from 'vitest';
import { DrivenCache, relativeRmse } from '../../core/test/support/driven-cache.js';
import {
  lloydMaxLevels,
  presets,
  turboquant,
  turboquant2,
  turboquant2Windows,
} from '../src/index.js';

/** Mean squared error of the Lloyd-Max quantizers on N(0, 1), to five digits. */
const THEORY = { 2: 0.11748, 3: 0.03455, 4: 0.0095 } as const;

/** Mean squared error of the nearest level under a density, by the midpoint rule. */
function errorUnder(levels: readonly number[], density: (x: number) => number): number {
  const step = 1e-3;
  let error = 0;
  let mass = 0;
  for (let x = -8 + step / 2; x < 8; x += step) {
    const nearest = Math.min(...levels.map((level) => Math.abs(x - level)));
    error += density(x) * nearest ** 2;
    mass += density(x);
  }
  return error / mass;
}

const normal = (x: number) => Math.exp((-x * x) / 2);
/** Of a coordinate of a random point on the sphere of radius sqrt(dim): what normal data are over their own norm. */
const sphere = (dim: number) => (x: number) => Math.max(1 - (x * x) / dim, 0) ** ((dim - 3) / 2);

describe.each([2, 3, 4] as const)('%i bits', (bits) => {
  test('the levels have the error of the optimum', () => {
    expect(errorUnder(lloydMaxLevels(bits), normal)).toBeCloseTo(THEORY[bits], 5);
  });

  test.each([64, 128, 256])('mean squared error on normal data, head dim %i', async (headDim) => {
    const tokens = 512;
    const cache = await DrivenCache.open(turboquant({ bits }), { tokens, headDim, kvHeads: 2 });
    await cache.append(tokens);
    const original = cache.original();
    const decoded = await cache.materialize();
    const expected = errorUnder(lloydMaxLevels(bits), sphere(headDim));
    for (const tensor of ['key', 'value'] as const) {
      const { length } = original[tensor];
      const error = relativeRmse(decoded[tensor], original[tensor], 0, length) ** 2;
      expect(Math.abs(error / expected - 1)).toBeLessThan(0.015);
      // Coordinates over their own norm have shorter tails than a normal variable, the more so the fewer there are.
      if (headDim >= 128) expect(Math.abs(error / THEORY[bits] - 1)).toBeLessThan(0.03);
    }
  });

  test('loud channels cost nothing, because of the rotation', async () => {
    const channelOps = [3, 17, 40, 90].map((channel) => ({ channel, mul: 12, add: 0 }));
    const key = lcgNormal({ seed: 7, shape: [512, 128], dtype: 'f16', channelOps });
    const errorOf = async (scheme: Scheme) => {
      const cache = await DrivenCache.open(scheme, { tokens: 512, headDim: 128, key });
      await cache.append(512);
      const original = cache.original().key;
      return relativeRmse((await cache.materialize()).key, original, 0, original.length) ** 2;
    };
    const rotated = turboquant({ bits });
    const plain = defineScheme({ ...rotated, key: { ...rotated.key, transforms: [] } as never });
    expect(await errorOf(rotated)).toBeLessThan(1.1 * THEORY[bits]);
    expect(await errorOf(plain)).toBeGreaterThan(2 * THEORY[bits]);
  });
});

test('the norm of a vector scales its error and no other', async () => {
  const shape = { tokens: 2, kvHeads: 2, headDim: 64 };
  const key = lcgNormal({ seed: 9, shape: [2, 2, 64], dtype: 'f16' });
  const decode = async (bits: Uint16Array) => {
    const cache = await DrivenCache.open(turboquant2, { ...shape, key: bits });
    await cache.append(2);
    return (await cache.materialize()).key;
  };
  const plain = await decode(key);
  const louder = key.slice();
  // Adding to the exponent multiplies by 16; zeros stay zeros.
  for (let i = 64; i < 128; i++) if ((louder[i]! & 0x7fff) !== 0) louder[i]! += 4 << 10;
  const decoded = await decode(louder);
  expect(decoded.subarray(0, 64)).toEqual(plain.subarray(0, 64));
  expect(decoded.subarray(128)).toEqual(plain.subarray(128));
  expect(decoded.subarray(64, 128)).toEqual(plain.subarray(64, 128).map((x) => 16 * x));
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

test('windows: nothing in f16 by default, else sinks and the newest tokens', async () => {
  const bare = await DrivenCache.open(turboquant2, { tokens: 130 });
  await bare.append(130);
  const all = { packed: 130, tail: 0, sinks: 0 };
  expect(await bare.windows()).toEqual({ key: all, value: all });

  const cache = await DrivenCache.open(turboquant2Windows, { tokens: 200 });
  await cache.append(150);
  await cache.decodeTo(200);
  const rest = { packed: 72, tail: 96, sinks: 32 };
  expect(await cache.windows()).toEqual({ key: rest, value: rest });
  const { key } = cache.original();
  const decoded = (await cache.materialize()).key;
  expect(decoded.subarray(0, 32 * 32)).toEqual(key.subarray(0, 32 * 32));
  expect(decoded.subarray(104 * 32)).toEqual(key.subarray(104 * 32));
  expect(relativeRmse(decoded, key, 32 * 32, 104 * 32)).toBeGreaterThan(0.2);
});

test('bits per element: the codes and 16 bits a vector', () => {
  const geometry = { layers: 2, queryHeads: 32, kvHeads: 8, keyHeadDim: 128, valueHeadDim: 128 };
  for (const bits of [2, 3, 4] as const) {
    const scheme = turboquant({ bits });
    const exact = bitsPerElement(createPlan(scheme, geometry)).all;
    expect(paperBitsPerElement(scheme.key, { kvHeads: 8, headDim: 128 })).toBe(bits + 0.125);
    expect(exact.total).toBe(bits + 0.125);
  }
});

test.each([80, 96, 112])('a head dim of %i is refused', async (headDim) => {
  await expect(DrivenCache.open(turboquant2, { tokens: 8, headDim })).rejects.toMatchObject({
    code: 'SHAPE_UNSUPPORTED',
    message: expect.stringContaining('Hadamard'),
  });
});

test('a constant vector errs no more than others, whatever the seed', async () => {
  const key = encodeF16(new Float32Array(128).fill(1));
  const worst = async (seed: number) => {
    const cache = await DrivenCache.open(turboquant({ bits: 2, seed }), {
      tokens: 1,
      headDim: 128,
      key,
    });
    await cache.append(1);
    const original = cache.original().key;
    return relativeRmse((await cache.materialize()).key, original, 0, 128) ** 2;
  };
  // Without signs it would be rotated onto one coordinate, with an error of 11.
  for (let seed = 0; seed < 20; seed++) expect(await worst(seed)).toBeLessThan(1.6 * THEORY[2]);
});

test('another seed stores other codes, and decodes as well', async () => {
  const decode = async (seed: number) => {
    const cache = await DrivenCache.open(turboquant({ bits: 4, seed }), { tokens: 64 });
    await cache.append(64);
    const original = cache.original().key;
    const { key } = await cache.materialize();
    expect(relativeRmse(key, original, 0, original.length) ** 2).toBeLessThan(1.1 * THEORY[4]);
    return key;
  };
  expect(await decode(1)).not.toEqual(await decode(2));
});
