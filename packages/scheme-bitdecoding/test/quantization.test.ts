// What BitDecoding stores: worked groups in both key layouts, errors on normal data, and bits per element.
import {
  bitsPerElement,
  createPlan,
  encodeF16,
  paperBitsPerElement,
  type Scheme,
} from '@lowbit-kv/core';
import { lcgNormal } from '@lowbit-kv/core/testing';
import { describe, expect, test } from 'vitest';
import { DrivenCache, relativeRmse } from '../../core/test/support/driven-cache.js';
import { bitdecoding, presets } from '../src/index.js';

const kc2 = bitdecoding({ bits: 2, keys: 'kc', groupSize: 32 });
const kt2 = bitdecoding({ bits: 2, keys: 'kt', groupSize: 32 });
const kc4 = bitdecoding({ bits: 4, keys: 'kc', groupSize: 32 });
const kt4 = bitdecoding({ bits: 4, keys: 'kt', groupSize: 32 });

const ramp = [-1, -0.5, 0.2, 0.5];
const rampDecoded = [-1, -0.5, 0, 0.5];

test('kc: a channel of keys has codes 0 1 2 3, scale 0.5, minimum -1', async () => {
  const tokens = 256;
  const key = new Float32Array(tokens * 32);
  for (let token = 0; token < tokens; token++) key[token * 32 + 5] = ramp[token % 4] as number;
  const cache = await DrivenCache.open(kc2, { tokens, key: encodeF16(key) });
  await cache.append(tokens);
  const decoded = (await cache.materialize()).key;
  expect(Array.from({ length: 4 }, (_, token) => decoded[token * 32 + 5])).toEqual(rampDecoded);
  // The channels beside it are constant and exact.
  expect(decoded.filter((_, i) => i % 32 !== 5).every((x) => x === 0)).toBe(true);
  const [block] = await cache.blocks('key');
  const { codes } = cache.plan.layers[0]!.key.layout!;
  // Four codes 3 2 1 0 in each byte of the row of channel 5.
  expect(block?.bytes.slice(5 * codes.rowBytes, 6 * codes.rowBytes)).toEqual(
    new Uint8Array(64).fill(0xe4),
  );
});

test('kt: a token of keys has them', async () => {
  const tokens = 256;
  const key = new Float32Array(tokens * 32);
  for (let channel = 0; channel < 32; channel++)
    key[9 * 32 + channel] = ramp[channel % 4] as number;
  const cache = await DrivenCache.open(kt2, { tokens, key: encodeF16(key) });
  await cache.append(tokens);
  const decoded = (await cache.materialize()).key;
  expect([...decoded.subarray(9 * 32, 9 * 32 + 4)]).toEqual(rampDecoded);
  expect(decoded.filter((_, i) => i < 9 * 32 || i >= 10 * 32).every((x) => x === 0)).toBe(true);
  const [block] = await cache.blocks('key');
  const { codes } = cache.plan.layers[0]!.key.layout!;
  expect(block?.bytes.slice(9 * codes.rowBytes, 10 * codes.rowBytes)).toEqual(
    new Uint8Array(8).fill(0xe4),
  );
});

describe('error on normal data', () => {
  // Root mean square error over the deviation, numpy, f16 parameters.
  const cases: [Scheme, number][] = [
    [kc2, 0.3927],
    [kt2, 0.3927],
    [kc4, 0.0782],
    [kt4, 0.0782],
  ];
  test.each(cases)('$id', async (scheme, theory) => {
    const tokens = 1024;
    const cache = await DrivenCache.open(scheme, { tokens, headDim: 64 });
    await cache.append(tokens);
    const original = cache.original();
    const decoded = await cache.materialize();
    for (const tensor of ['key', 'value'] as const) {
      const error = relativeRmse(decoded[tensor], original[tensor], 0, tokens * 64);
      expect(Math.abs(error / theory - 1)).toBeLessThan(0.02);
    }
  });
});

describe('a loud channel of keys', () => {
  const recipe = { shape: [256, 32], dtype: 'f16' } as const;
  const loud = lcgNormal({ ...recipe, seed: 7, channelOps: [{ channel: 3, mul: 64, add: 0 }] });
  const errorOfOthers = async (scheme: Scheme) => {
    const cache = await DrivenCache.open(scheme, { tokens: 256, key: loud });
    await cache.append(256);
    const quiet = (values: Float32Array) => values.filter((_, i) => i % 32 !== 3);
    const original = quiet(cache.original().key);
    return relativeRmse(quiet((await cache.materialize()).key), original, 0, original.length);
  };

  test('harms no other in kc', async () => {
    expect(await errorOfOthers(kc2)).toBeLessThan(0.45);
  });

  test('swallows its neighbours in kt', async () => {
    expect(await errorOfOthers(kt2)).toBeGreaterThan(2);
  });
});

test('bits per element', () => {
  const shape = { kvHeads: 8, headDim: 128 };
  const geometry = { layers: 2, queryHeads: 32, kvHeads: 8, keyHeadDim: 128, valueHeadDim: 128 };
  const expected: Record<string, number> = {
    '4bit-g32': 5,
    '4bit-g64': 4.5,
    '4bit-g128': 4.25,
    '2bit-g32': 3,
    '2bit-g64': 2.5,
    '2bit-g128': 2.25,
  };
  for (const scheme of presets) {
    const bits = expected[scheme.id.replace(/^bitdecoding-k[ct]-/, '')];
    expect(paperBitsPerElement(scheme.key, shape)).toBe(bits);
    expect(paperBitsPerElement(scheme.value, shape)).toBe(bits);
    const exact = bitsPerElement(createPlan(scheme, geometry)).all;
    expect(exact.total).toBe(bits);
    expect(exact.alignment).toBe(0);
  }
});
