// Tables of packing kernels: what lies where, and more packs than a launch has room for.
import { createPlan, type PackWork } from '@lowbit-kv/core';
import { asymmetric, inlineScheme } from '@lowbit-kv/core/testing';
import { expect, it } from 'vitest';
import { fragmentPageBytes, StoreMemory } from '../src/memory/store-memory.js';
import type { TensorMemory } from '../src/memory/tensor-memory.js';
import { PACK_WORDS, packWords, SPAN_WORDS } from '../src/store/pack-words.js';
import { errorOf, withFake } from './support/open-fake.js';

const HEADS = 2;
const DIM = 128;
const PLAN = createPlan(
  inlineScheme({ key: asymmetric(4, 'tokens', 32), value: asymmetric(4, 'channels', 64) }),
  { layers: 1, queryHeads: HEADS, kvHeads: HEADS, keyHeadDim: DIM, valueHeadDim: DIM },
  { blockTokens: 128 },
);
const PAGES = [
  { packed: 4, window: 4, statistics: 0 },
  { packed: 4, window: 4, statistics: 0 },
];

/** 32 tokens: 20 of a window page, then 12 of the input. */
const packOf = (page: number): PackWork => ({
  page,
  slot: 32,
  count: 32,
  sources: [
    { source: 'window', page: 3, slot: 5, count: 20, position: 0 },
    { source: 'input', page: 0, slot: 7, count: 12, position: 20 },
  ],
  statistics: -1,
});

async function withMemory(body: (memory: TensorMemory) => void | Promise<void>): Promise<void> {
  await withFake({}, async ({ stream }) => {
    const memory = StoreMemory.allocate(stream, PLAN, PAGES, fragmentPageBytes);
    await body(memory.layers[0]!.key);
    memory.dispose();
  });
}

it.each([2, 5])('two packs in a table of %i', async (capacity) => {
  await withMemory((memory) => {
    const words = packWords(memory, [packOf(1), packOf(2)], capacity);
    const spans = capacity * PACK_WORDS;
    expect(words).toHaveLength(spans + 4 * SPAN_WORDS);
    const pack = (number: number) => [...words.subarray(number * PACK_WORDS).subarray(0, 6)];
    const page = memory.sizeOf('packed');
    expect(pack(0)).toEqual([page, 0, 32, 32, spans, 2]);
    expect(pack(1)).toEqual([2 * page, 0, 32, 32, spans + 2 * SPAN_WORDS, 2]);
    expect(words.subarray(2 * PACK_WORDS, spans).some(Boolean)).toBe(false);
    const width = HEADS * DIM;
    const rows = [
      [0, DIM, 3 * memory.sizeOf('window') + 2 * 5 * DIM, 0, 32 * DIM, 0],
      [20, width, 2 * 7 * width, 0, DIM, 1],
    ].flat();
    expect([...words.subarray(spans)]).toEqual([...rows, ...rows]);
  });
});

it('places beyond 4 GiB, and statistics that a tensor has not', async () => {
  await withMemory((memory) => {
    const words = packWords(memory, [{ ...packOf(3), statistics: 1 }], 1, 2 ** 31);
    expect([...words.subarray(0, 2)]).toEqual([2 ** 31, 1]);
    expect(memory.sizeOf('statistics')).toBe(0);
    expect([...words.subarray(6, 8)]).toEqual([0, 0]);
  });
});

it.each([0, 1, 2])('three packs find no room in a table of %i', async (capacity) => {
  await withMemory(async (memory) => {
    const packs = [packOf(0), packOf(1), packOf(2)];
    expect(await errorOf(() => packWords(memory, packs, capacity))).toMatchObject({
      code: 'STEP_STATE',
      summary: 'the step has more work than the captured one has room for',
      value: '3 packs',
      valid: `at most ${capacity}`,
      next: expect.stringContaining('more rows'),
    });
  });
});
