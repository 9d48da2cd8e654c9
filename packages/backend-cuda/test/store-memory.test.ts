// Pages in device memory: where they lie, what they cost, and that nothing is left behind.
import { createPlan, type Plan, type TensorScheme } from '@lowbit-kv/core';
import { asymmetric, inlineScheme } from '@lowbit-kv/core/testing';
import { expect, it } from 'vitest';
import { RESULT } from '../src/driver/results.js';
import { fragmentPageBytes, StoreMemory } from '../src/memory/store-memory.js';
import { errorOf, withFake } from './support/open-fake.js';

/** Codes of 4 bits, then scales and zeros of groups of 32 tokens, and of 64 channels. */
const PIECE = { key: 8192 + 2 * 2 * 512, value: 8192 + 2 * 2 * 256 } as const;

function planOf(
  key: TensorScheme = asymmetric(4, 'tokens', 32),
  value: TensorScheme = asymmetric(4, 'channels', 64),
  layers = 2,
): Plan {
  const geometry = { layers, queryHeads: 8, kvHeads: 2, keyHeadDim: 128, valueHeadDim: 128 };
  return createPlan(inlineScheme({ key, value }), geometry, { blockTokens: 128 });
}

/** Pages by class: keys, then values. */
const PAGES = [
  { packed: 5, window: 3, statistics: 0 },
  { packed: 4, window: 2, statistics: 0 },
];
const WINDOW = 2 * 32 * 128 * 2;

it('pages of a tensor lie one after another, all zero', async () => {
  await withFake({}, ({ context, stream }) => {
    const memory = StoreMemory.allocate(stream, planOf(), PAGES, fragmentPageBytes);
    const { key, value } = memory.layers[1]!;
    stream.synchronize();
    expect([key.sizeOf('packed'), key.sizeOf('window')]).toEqual([2 * PIECE.key, WINDOW]);
    const start = key.pointer('packed');
    expect(start % 256n).toBe(0n);
    expect(key.page('packed', 3).pointer - start).toBe(BigInt(3 * 2 * PIECE.key));
    expect(key.pointer('window') - start).toBe(BigInt(5 * 2 * PIECE.key));
    expect(value.page('window', 1).pointer - value.pointer('window')).toBe(BigInt(WINDOW));
    for (const tensor of [key, value]) {
      for (const kind of ['packed', 'window'] as const)
        expect(tensor.page(kind, 1).download().some(Boolean)).toBe(false);
    }
    // The last byte of a page is written without touching the next.
    const last = key.page('packed', 2);
    last.upload(new Uint8Array(last.bytes).fill(7));
    expect(key.page('packed', 1).download().includes(7)).toBe(false);
    expect(key.page('packed', 3).download().includes(7)).toBe(false);
    expect(context.resourceCount).toBe(4 + 2);
    memory.dispose();
    expect(context.resourceCount).toBe(2);
  });
});

it('tells what it allocated', async () => {
  await withFake({}, ({ stream }) => {
    const memory = StoreMemory.allocate(stream, planOf(), PAGES, fragmentPageBytes);
    const keys = 5 * 2 * PIECE.key + 3 * WINDOW;
    const values = 4 * 2 * PIECE.value + 2 * WINDOW;
    expect(memory.allocatedBytes).toBe(2 * (keys + values));
    expect(memory.of({ layer: 0, tensor: 'value' })?.bytes).toBe(values);
    expect(memory.of({ layer: 2, tensor: 'value' })).toBeUndefined();
    memory.dispose();
    memory.dispose();
  });
});

it('statistics have pages of their own, from a multiple of 256 bytes on', async () => {
  const key: TensorScheme = {
    ...asymmetric(4, 'tokens', 32),
    transforms: [
      {
        kind: 'channelScale',
        scope: 'sequence',
        statistic: 'rootAbsoluteMaximum',
        statisticsTokens: 16,
        clamp: [0.01, 100],
        minimumSpread: 1,
      },
    ],
  };
  await withFake({}, ({ stream }) => {
    const pages = [{ packed: 1, window: 1, statistics: 3 }, PAGES[1]!];
    const memory = StoreMemory.allocate(stream, planOf(key), pages, fragmentPageBytes);
    const { key: keys } = memory.layers[0]!;
    expect(keys.sizeOf('statistics')).toBe(2 * 128 * 2);
    expect(keys.pointer('statistics') - keys.pointer('packed')).toBe(
      BigInt(2 * PIECE.key + WINDOW),
    );
    expect(keys.pointer('statistics') % 256n).toBe(0n);
    expect(keys.page('statistics', 2).bytes).toBe(512);
    memory.dispose();
  });
});

it('a tensor of f16 has window pages only; no pages take no memory', async () => {
  await withFake({}, async ({ stream }) => {
    const pages = [
      { packed: 0, window: 2, statistics: 0 },
      { packed: 0, window: 0, statistics: 0 },
    ];
    const memory = StoreMemory.allocate(stream, planOf({ bits: 16 }), pages, fragmentPageBytes);
    const { key, value } = memory.layers[0]!;
    expect([key.bytes, value.bytes, memory.allocatedBytes]).toEqual([2 * WINDOW, 0, 4 * WINDOW]);
    expect([key.pointer('packed'), value.pointer('packed'), value.pointer('window')]).toEqual([
      0n,
      0n,
      0n,
    ]);
    const error = await errorOf(() => value.page('window', 0));
    expect([error.code, error.valid]).toEqual(['OPTION_INVALID', 'none']);
    memory.dispose();
  });
});

it('names the pages there are', async () => {
  await withFake({}, async ({ stream }) => {
    const memory = StoreMemory.allocate(stream, planOf(), PAGES, fragmentPageBytes);
    for (const page of [-1, 5, 0.5]) {
      const error = await errorOf(() => memory.layers[0]!.key.page('packed', page));
      expect(error).toMatchObject({ code: 'OPTION_INVALID', value: page, valid: '0 to 4' });
    }
    memory.dispose();
  });
});

it.each([1, 2, 4])('allocation %i fails: the others are freed', async (failing) => {
  await withFake({}, async ({ fake, context, stream }) => {
    fake.failNext('cuMemAlloc_v2', RESULT.OUT_OF_MEMORY, failing);
    const before = context.resourceCount;
    const allocate = () => StoreMemory.allocate(stream, planOf(), PAGES, fragmentPageBytes);
    const error = await errorOf(allocate);
    expect(error.code).toBe('DEVICE_OUT_OF_MEMORY');
    expect(context.resourceCount).toBe(before);
    expect(fake.count('cuMemFree_v2')).toBe(failing - 1);
    allocate().dispose();
  });
});

it('clearing fails: nothing is left', async () => {
  await withFake({}, async ({ fake, context, stream }) => {
    fake.failNext('cuMemsetD8Async', RESULT.INVALID_VALUE, 3);
    const before = context.resourceCount;
    const error = await errorOf(() =>
      StoreMemory.allocate(stream, planOf(), PAGES, fragmentPageBytes),
    );
    expect(error.code).toBe('BACKEND_FAILED');
    expect(context.resourceCount).toBe(before);
    expect(fake.count('cuMemFree_v2')).toBe(3);
  });
});

it('more pages than tables can name are refused before anything is allocated', async () => {
  await withFake({}, async ({ fake, stream }) => {
    const pages = [{ packed: 2 ** 23 + 1, window: 0, statistics: 0 }];
    const error = await errorOf(() =>
      StoreMemory.allocate(stream, planOf(), pages, fragmentPageBytes),
    );
    expect(error).toMatchObject({ code: 'OPTION_INVALID', valid: 'at most 8388608' });
    expect(fake.count('cuMemAlloc_v2')).toBe(0);
  });
});
