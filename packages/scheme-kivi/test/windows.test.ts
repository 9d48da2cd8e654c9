// The KIVI state machine on a real cache: check values of the authors' code for prompts of 300, 60 and 256 tokens.
import { windowCounts } from '@lowbit-kv/core';
import { lcgNormal, maxAbsDifference } from '@lowbit-kv/core/testing';
import { describe, expect, test } from 'vitest';
import { DrivenCache } from '../../core/test/support/driven-cache.js';
import { kivi, kivi2, presets } from '../src/index.js';

type Row = readonly [
  prompt: number,
  steps: number,
  keyPacked: number,
  keyTail: number,
  valuePacked: number,
  valueTail: number,
];

const rows: Row[] = [
  [300, 0, 256, 44, 172, 128],
  [300, 84, 384, 0, 256, 128],
  [60, 0, 0, 60, 0, 60],
  [60, 68, 128, 0, 0, 128],
  [60, 69, 128, 1, 1, 128],
  [256, 0, 256, 0, 128, 128],
  [127, 0, 0, 127, 0, 127],
];

describe.each(rows)('prompt %i, then %i steps', (prompt, steps, ...counts) => {
  const [keyPacked, keyTail, valuePacked, valueTail] = counts;
  const expected = {
    key: { packed: keyPacked, tail: keyTail, sinks: 0 },
    value: { packed: valuePacked, tail: valueTail, sinks: 0 },
  };
  const length = prompt + steps;

  test('prompt in one step', async () => {
    const cache = await DrivenCache.open(kivi2, { tokens: length });
    await cache.append(prompt);
    await cache.decodeTo(length);
    expect(await cache.windows()).toEqual(expected);
  });

  test('token by token', async () => {
    const cache = await DrivenCache.open(kivi2, { tokens: length });
    await cache.decodeTo(length);
    expect(await cache.windows()).toEqual(expected);
  });

  test('window law', async () => {
    const { plan } = await DrivenCache.open(kivi2, { tokens: length });
    for (const pageClass of plan.classes)
      expect(windowCounts(pageClass, length)).toEqual(expected[pageClass.tensor]);
  });
});

test('a chunked prompt jumps over no flush', async () => {
  const cache = await DrivenCache.open(kivi2, { tokens: 400 });
  for (const chunk of [100, 200, 7, 93]) await cache.append(chunk);
  const { key, value } = await cache.windows();
  expect([key.packed, key.tail, value.packed, value.tail]).toEqual([384, 16, 272, 128]);
});

test('packing comes after the attention of the step that fills the residual', async () => {
  const cache = await DrivenCache.open(kivi2, { tokens: 128 });
  await cache.append(127);
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

test('a residual of broken groups is refused', () => {
  expect(() => kivi({ bits: 2, residualLength: 100 })).toThrow(/window\.flush/);
});

test('groups of 128 along channels need a head dim of 128', async () => {
  const large = presets.find(({ id }) => id === 'kivi-2bit-g128');
  if (large === undefined) throw new Error('preset missing');
  await expect(DrivenCache.open(large, { tokens: 8, headDim: 64 })).rejects.toMatchObject({
    code: 'SHAPE_UNSUPPORTED',
  });
  await expect(DrivenCache.open(large, { tokens: 8, headDim: 128 })).resolves.toBeDefined();
});
