// The state machine of BitDecoding on a real cache: both tensors pack L - L mod Nr tokens and keep the rest.
import { windowCounts } from '@lowbit-kv/core';
import { lcgNormal, maxAbsDifference } from '@lowbit-kv/core/testing';
import { describe, expect, test } from 'vitest';
import { DrivenCache } from '../../core/test/support/driven-cache.js';
import { bitdecoding, presets } from '../src/index.js';

const schemes = {
  4: bitdecoding({ bits: 4, keys: 'kc', groupSize: 32 }),
  2: bitdecoding({ bits: 2, keys: 'kt', groupSize: 32 }),
};

type Row = readonly [bits: 2 | 4, prompt: number, steps: number, packed: number, tail: number];

const rows: Row[] = [
  [4, 300, 0, 256, 44],
  // The residual is full after 84 more tokens, and is packed in that step.
  [4, 300, 83, 256, 127],
  [4, 300, 84, 384, 0],
  [4, 300, 85, 384, 1],
  [4, 60, 0, 0, 60],
  [4, 60, 68, 128, 0],
  [4, 127, 0, 0, 127],
  [4, 128, 0, 128, 0],
  [2, 300, 0, 256, 44],
  [2, 300, 84, 256, 128],
  [2, 300, 212, 512, 0],
  [2, 255, 0, 0, 255],
  [2, 255, 1, 256, 0],
];

describe.each(rows)('%i bits, prompt %i, then %i steps', (bits, prompt, steps, packed, tail) => {
  const scheme = schemes[bits];
  const counts = { packed, tail, sinks: 0 };
  const expected = { key: counts, value: counts };
  const length = prompt + steps;

  test('prompt in one step', async () => {
    const cache = await DrivenCache.open(scheme, { tokens: length });
    await cache.append(prompt);
    await cache.decodeTo(length);
    expect(await cache.windows()).toEqual(expected);
  });

  test('token by token', async () => {
    const cache = await DrivenCache.open(scheme, { tokens: length });
    await cache.decodeTo(length);
    expect(await cache.windows()).toEqual(expected);
  });

  test('window law', async () => {
    const { plan } = await DrivenCache.open(scheme, { tokens: length });
    expect(plan.classes).toHaveLength(2);
    for (const pageClass of plan.classes)
      expect(windowCounts(pageClass, length)).toEqual(expected[pageClass.tensor]);
  });
});

test('a chunked prompt jumps over no flush', async () => {
  const cache = await DrivenCache.open(schemes[4], { tokens: 400 });
  for (const chunk of [100, 200, 7, 93]) await cache.append(chunk);
  const counts = { packed: 384, tail: 16, sinks: 0 };
  expect(await cache.windows()).toEqual({ key: counts, value: counts });
});

test('tokens of the tail are f16, packed ones are not', async () => {
  const cache = await DrivenCache.open(schemes[4], { tokens: 300 });
  await cache.append(300);
  const packed = 256 * 32;
  const original = cache.original();
  const decoded = await cache.materialize();
  for (const tensor of ['key', 'value'] as const) {
    expect(decoded[tensor].subarray(packed)).toEqual(original[tensor].subarray(packed));
    const changed = decoded[tensor]
      .subarray(0, packed)
      .filter((x, i) => x !== original[tensor][i]).length;
    expect(changed).toBeGreaterThan(0.8 * packed);
  }
});

test('packing comes after the attention of the step that fills the residual', async () => {
  const cache = await DrivenCache.open(bitdecoding({ bits: 2, keys: 'kc', groupSize: 32 }), {
    tokens: 256,
  });
  await cache.append(255);
  const query = lcgNormal({ seed: 5, shape: [2, 32], dtype: 'f32', std: 2 });
  const inStep = await cache.attendInStep(query);
  const before = cache.original();
  expect(
    maxAbsDifference(inStep, cache.expectedAttention(query, before.key, before.value)),
  ).toBeLessThan(1e-5);

  const after = await cache.materialize();
  const packed = cache.expectedAttention(query, after.key, after.value);
  expect(maxAbsDifference(await cache.attend(query), packed)).toBeLessThan(1e-5);
  expect(maxAbsDifference(inStep, packed)).toBeGreaterThan(0.02);
});

test.each(['bitdecoding-kc-4bit-g128', 'bitdecoding-kt-2bit-g128'])(
  '%s needs a head dim of 128',
  async (id) => {
    const large = presets.find((preset) => preset.id === id);
    if (large === undefined) throw new Error('preset missing');
    await expect(DrivenCache.open(large, { tokens: 8, headDim: 64 })).rejects.toMatchObject({
      code: 'SHAPE_UNSUPPORTED',
    });
    await expect(DrivenCache.open(large, { tokens: 8, headDim: 128 })).resolves.toBeDefined();
  },
);
