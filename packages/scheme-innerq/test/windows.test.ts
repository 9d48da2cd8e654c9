// The InnerQ windows as invariants on a real cache: sinks fill first, recent stays within w and w + f - 1.
import { windowCounts } from '@lowbit-kv/core';
import { lcgNormal, maxAbsDifference } from '@lowbit-kv/core/testing';
import { describe, expect, test } from 'vitest';
import { DrivenCache } from '../../core/test/support/driven-cache.js';
import { innerq, innerqBase } from '../src/index.js';

const authorsFlush = innerq({ variant: 'base', keyFlush: 1 });

describe.each([
  ['keys 32 at a time', innerqBase],
  ['keys one by one', authorsFlush],
])('%s', (_name, scheme) => {
  const single = scheme === authorsFlush;

  test('a prompt of 1000 keeps 32 sinks and packs 864 values', async () => {
    const cache = await DrivenCache.open(scheme, { tokens: 1000 });
    await cache.append(1000);
    const packed = { sinks: 32, packed: 864, tail: 104 };
    expect(await cache.windows()).toEqual({
      key: single ? { sinks: 32, packed: 872, tail: 96 } : packed,
      value: packed,
    });
  });

  test('token by token from 900: the window stays in its range, the count a multiple of the flush', async () => {
    const cache = await DrivenCache.open(scheme, { tokens: 1000 });
    await cache.append(900);
    const seen = { key: new Set<number>(), value: new Set<number>() };
    while (cache.length < 1000) {
      await cache.append(1);
      const rows = await cache.windows();
      for (const tensor of ['key', 'value'] as const) {
        const { sinks, packed, tail } = rows[tensor];
        const pageClass = cache.plan.classes.find((entry) => entry.tensor === tensor);
        expect(windowCounts(pageClass!, cache.length)).toEqual(rows[tensor]);
        expect([sinks, sinks + packed + tail]).toEqual([32, cache.length]);
        expect(packed % (tensor === 'key' && single ? 1 : 32)).toBe(0);
        seen[tensor].add(tail);
      }
    }
    const range = (set: Set<number>) => [Math.min(...set), Math.max(...set), set.size];
    expect(range(seen.value)).toEqual([96, 127, 32]);
    expect(range(seen.key)).toEqual(single ? [96, 96, 1] : [96, 127, 32]);
  });

  test('a prompt of 60: keys first pack at step 69, or at step 100 with flush 32', async () => {
    const first = single ? 69 : 100;
    const cache = await DrivenCache.open(scheme, { tokens: 60 + first });
    await cache.append(60);
    expect((await cache.windows()).key).toEqual({ sinks: 32, packed: 0, tail: 28 });
    await cache.decodeTo(60 + first - 1);
    expect((await cache.windows()).key).toMatchObject({ packed: 0, tail: single ? 96 : 127 });
    await cache.append(1);
    const flush = single ? 1 : 32;
    expect((await cache.windows()).key).toEqual({ sinks: 32, packed: flush, tail: 96 });
  });

  test('one prompt and single steps end alike', async () => {
    const [whole, steps] = await Promise.all(
      [1, 2].map(() => DrivenCache.open(scheme, { tokens: 300 })),
    );
    await whole!.append(300);
    await steps!.decodeTo(300);
    expect(await steps!.windows()).toEqual(await whole!.windows());
    for (const tensor of ['key', 'value'] as const)
      expect(await steps!.blocks(tensor)).toEqual(await whole!.blocks(tensor));
  });
});

test('sinks also fill during decoding', async () => {
  const cache = await DrivenCache.open(innerqBase, { tokens: 40 });
  await cache.decodeTo(20);
  expect((await cache.windows()).value).toEqual({ sinks: 20, packed: 0, tail: 0 });
  await cache.decodeTo(40);
  expect((await cache.windows()).value).toEqual({ sinks: 32, packed: 0, tail: 8 });
});

test('packing comes before the attention of its step', async () => {
  const cache = await DrivenCache.open(innerqBase, { tokens: 160 });
  await cache.append(159);
  const query = lcgNormal({ seed: 5, shape: [2, 32], dtype: 'f32', std: 2 });
  const inStep = await cache.attendInStep(query);
  const { key, value } = await cache.materialize();
  const packed = cache.expectedAttention(query, key, value);
  expect(maxAbsDifference(inStep, packed)).toBeLessThan(1e-5);
  const f16 = cache.original();
  const exact = cache.expectedAttention(query, f16.key, f16.value);
  expect(maxAbsDifference(inStep, exact)).toBeGreaterThan(0.005);
});

test('more statistics than the window holds delay packing, as declared', async () => {
  const cache = await DrivenCache.open(innerq({ variant: 'base', statisticsTokens: 256 }), {
    tokens: 288,
  });
  await cache.append(287);
  expect((await cache.windows()).key.packed).toBe(0);
  await cache.append(1);
  expect((await cache.windows()).key).toEqual({ sinks: 32, packed: 160, tail: 96 });
});
