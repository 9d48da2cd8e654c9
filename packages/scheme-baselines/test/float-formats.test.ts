// Tokens in FP8, NVFP4 and MXFP4 by hand: decoded values, codes and scales; levels; what a tensor scale does afterwards.
import { encodeF16 } from '@lowbit-kv/core';
import {
  E2M1_LEVELS,
  lcgNormal,
  e4m3Levels as levelsByField,
  maxAbsDifference,
} from '@lowbit-kv/core/testing';
import { expect, test } from 'vitest';
import { DrivenCache } from '../../core/test/support/driven-cache.js';
import { e2m1Levels, e4m3Levels, floatFormat } from '../src/index.js';
import { both, channels, pack } from './support/pack-token.js';

const all = (format: 'fp8-e4m3' | 'nvfp4' | 'mxfp4', statisticsTokens = 3) =>
  floatFormat({ keys: format, values: format, statisticsTokens });

test('levels are those of the formats', () => {
  expect(e2m1Levels()).toEqual(E2M1_LEVELS);
  expect(e4m3Levels()).toEqual(levelsByField());
  expect(e4m3Levels().length).toBe(253);
  expect(e4m3Levels().slice(-3)).toEqual([384, 416, 448]);
});

test.each(both)('fp8-e4m3: %s', async (tensor) => {
  // Largest magnitude 14: the tensor is multiplied by 448 / 14 = 32. Steps of 8 above 64, of 2^-9 below 2^-6.
  const token = channels([14, -14, 2.625, 2.5, 2 ** -14, -(2 ** -6), 0]);
  const packed = await pack(all('fp8-e4m3'), token, tensor);
  // 84 lies between 80 and 88 and takes the lower; 80 is a level; 2^-9 is the smallest; -0.5.
  expect(packed.decoded).toEqual(channels([14, -14, 2.5, 2.5, 2 ** -14, -(2 ** -6), 0]));
  const codeOf = (value: number) => e4m3Levels().indexOf(value);
  expect(packed.codes.slice(0, 7)).toEqual([448, -448, 80, 80, 2 ** -9, -0.5, 0].map(codeOf));
  expect(packed.codes.slice(0, 2)).toEqual([252, 0]);
  expect([packed.scales, packed.zeros]).toEqual([[], []]);
});

test.each(both)('nvfp4: %s', async (tensor) => {
  // Largest magnitude 2.625: times 2688 / 2.625 = 1024. Scales 2688 / 6 = 448 and 1536 / 6 = 256, both exact in E4M3.
  const token = channels([2.625, -2.625, 0.4375, 1.1, -0.05]);
  token.splice(16, 3, 1.5, -1, 0.3);
  // 6.4 / 6 = 1.0667 lies nearer to 1.125 than to 1.
  token.splice(32, 2, 0.00625, 0.001);
  const packed = await pack(all('nvfp4'), token, tensor);
  const decoded = channels([2.625, -2.625, 0.4375, 0.875 + 0.4375, 0]);
  // In units of 448/1024 = 0.4375: 6, -6, 1, 2.51 to 3, -0.11 to 0. In units of 0.25: 6, -4, 1.2 to 1.
  decoded.splice(16, 3, 1.5, -1, 0.25);
  // In units of 1.125/1024: 5.69 to 6, 0.91 to 1.
  decoded.splice(32, 2, (6 * 1.125) / 1024, 1.125 / 1024);
  expect(packed.decoded.map((x) => x + 0)).toEqual(decoded);
  // Codes count from -6: 0 is code 7, 6 is 14.
  expect(packed.codes.slice(0, 3)).toEqual([0x0e, 0xc9, 0x77]);
  expect(packed.codes.slice(8, 10)).toEqual([0x1e, 0x79]);
  // E4M3: 448 is 0x7e, 256 is 0x78, 1.125 is 0x39.
  expect(packed.scales).toEqual([0x7e, 0x78, 0x39, 0]);
  expect(packed.zeros).toEqual([]);
});

test.each(both)('mxfp4: %s', async (tensor) => {
  // Largest magnitude 5: exponent 2 - 2 = 0, scale 1. Largest 7.5: the same, and 7.5 saturates at 6.
  const token = channels([5, -5, 2.4, 0.3, 0.2]);
  token.splice(32, 3, -7.5, 1.5, 0.75);
  const packed = await pack(all('mxfp4'), token, tensor);
  // 5 is half-way between 4 and 6: the lower level, which is -6 for -5. 0.75 takes 0.5.
  const decoded = channels([4, -6, 2, 0.5, 0]);
  decoded.splice(32, 3, -6, 1.5, 0.5);
  expect(packed.decoded.map((x) => x + 0)).toEqual(decoded);
  expect(packed.codes.slice(0, 3)).toEqual([0x0d, 0x8b, 0x77]);
  expect(packed.scales).toEqual([127, 127]);
});

test.each(['fp8-e4m3', 'nvfp4'] as const)(
  '%s: what is louder than the first tokens saturates',
  async (format) => {
    const shape = { tokens: 9, headDim: 16 };
    const key = encodeF16(Float32Array.from({ length: 9 * 16 }, (_, i) => (i < 128 ? 1 : 2)));
    const cache = await DrivenCache.open(all(format, 8), { ...shape, key });
    await cache.append(9);
    const decoded = (await cache.materialize()).key;
    expect(maxAbsDifference(decoded.subarray(0, 128), new Float32Array(128).fill(1))).toBeLessThan(
      2e-3,
    );
    // 2688 and 448 over 1 become exact f16 factors, so the largest level is 1 again.
    expect(maxAbsDifference(decoded.subarray(128), new Float32Array(16).fill(1))).toBeLessThan(
      2e-3,
    );
  },
);

test('the first tokens stay f16 until the scale of the tensor is known, MXFP4 waits for nothing', async () => {
  const packedAfter = async (format: 'fp8-e4m3' | 'nvfp4' | 'mxfp4', tokens: number) => {
    const key = lcgNormal({ seed: 3, shape: [16, 32], dtype: 'f16' });
    const cache = await DrivenCache.open(all(format, 10), { tokens: 16, key });
    await cache.append(tokens);
    return (await cache.windows()).key.packed;
  };
  expect(await packedAfter('nvfp4', 9)).toBe(0);
  expect(await packedAfter('nvfp4', 10)).toBe(10);
  expect(await packedAfter('fp8-e4m3', 9)).toBe(0);
  expect(await packedAfter('fp8-e4m3', 11)).toBe(11);
  expect(await packedAfter('mxfp4', 1)).toBe(1);
});
