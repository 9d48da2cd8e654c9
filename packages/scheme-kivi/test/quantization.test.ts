// What KIVI stores: the worked example, errors on random data against theory, and bits per element.
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
import { kivi, kivi2, kivi4, presets } from '../src/index.js';

test('a channel of keys: codes 0 1 2 3, scale 0.5, minimum -1', async () => {
  const channel = [-1, -0.5, 0.2, 0.5];
  const tokens = 128;
  const key = new Float32Array(tokens * 32);
  for (let token = 0; token < tokens; token++) key[token * 32 + 5] = channel[token % 4] as number;
  const cache = await DrivenCache.open(kivi2, { tokens, key: encodeF16(key) });
  await cache.append(tokens);
  const decoded = (await cache.materialize()).key;
  expect(Array.from({ length: 4 }, (_, token) => decoded[token * 32 + 5])).toEqual([
    -1, -0.5, 0, 0.5,
  ]);
  // The channels beside it are constant and exact.
  expect(decoded.filter((_, i) => i % 32 !== 5).every((x) => x === 0)).toBe(true);
  const [block] = await cache.blocks('key');
  const { codes } = cache.plan.layers[0]!.key.layout!;
  // Four codes 3 2 1 0 in each byte of the row of channel 5.
  expect(block?.bytes.slice(5 * codes.rowBytes, 5 * codes.rowBytes + 3)).toEqual(
    Uint8Array.of(0xe4, 0xe4, 0xe4),
  );
});

test('ties go to even codes along channels too', async () => {
  const value = new Float32Array(129 * 32);
  value.set([0, 0.5, 1.5, 2.5, 3]);
  const cache = await DrivenCache.open(kivi2, { tokens: 129, value: encodeF16(value) });
  await cache.append(129);
  // The one packed token is the oldest.
  const decoded = (await cache.materialize()).value;
  expect([...decoded.subarray(0, 5)]).toEqual([0, 0, 2, 2, 3]);
});

describe('error on normal data', () => {
  // Root mean square error over the deviation, numpy, f16 parameters.
  const cases: [Scheme, number][] = [
    [kivi2, 0.393],
    [kivi4, 0.0782],
  ];
  test.each(cases)('$id', async (scheme, theory) => {
    const cache = await DrivenCache.open(scheme, { tokens: 1152, headDim: 64 });
    await cache.append(1152);
    const { key, value } = cache.original();
    const decoded = await cache.materialize();
    const packed = 1024 * 64;
    const keyError = relativeRmse(decoded.key, key, 0, 1152 * 64);
    const valueError = relativeRmse(decoded.value, value, 0, packed);
    expect(Math.abs(keyError / theory - 1)).toBeLessThan(0.02);
    expect(Math.abs(valueError / theory - 1)).toBeLessThan(0.02);
    // The residual of the values is untouched.
    expect(decoded.value.subarray(packed)).toEqual(value.subarray(packed));
  });
});

test('keys are grouped along tokens: a loud channel harms no other', async () => {
  const recipe = { shape: [128, 32], dtype: 'f16' } as const;
  const loud = lcgNormal({ ...recipe, seed: 7, channelOps: [{ channel: 3, mul: 64, add: 0 }] });
  const cache = await DrivenCache.open(kivi2, { tokens: 128, key: loud });
  await cache.append(128);
  const { key } = cache.original();
  const decoded = (await cache.materialize()).key;
  const quiet = (values: Float32Array) => values.filter((_, i) => i % 32 !== 3);
  expect(relativeRmse(quiet(decoded), quiet(key), 0, 128 * 31)).toBeLessThan(0.45);
});

test('bits per element: 3 and 5 at groups of 32', () => {
  const shape = { kvHeads: 8, headDim: 128 };
  expect(paperBitsPerElement(kivi2.key, shape)).toBe(3);
  expect(paperBitsPerElement(kivi2.value, shape)).toBe(3);
  expect(paperBitsPerElement(kivi4.key, shape)).toBe(5);
  // Groups of 128, as BitDecoding stores them.
  expect(paperBitsPerElement(kivi({ bits: 4, groupSize: 128 }).key, shape)).toBe(4.25);
  expect(paperBitsPerElement(kivi({ bits: 2, groupSize: 128 }).value, shape)).toBe(2.25);
  const geometry = { layers: 2, queryHeads: 32, kvHeads: 8, keyHeadDim: 128, valueHeadDim: 128 };
  for (const scheme of presets) {
    const exact = bitsPerElement(createPlan(scheme, geometry)).all;
    expect(exact.total).toBe(paperBitsPerElement(scheme.key, shape));
    expect(exact.alignment).toBe(0);
  }
});
