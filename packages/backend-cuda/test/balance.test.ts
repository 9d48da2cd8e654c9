// Items of ragged batches: how even they are, on the device that they are shared for.
import { describe, expect, it } from 'vitest';
import { balance, makespan } from '../src/attend/balance.js';
import { itemCapacity, WorkList } from '../src/attend/work-list.js';
import { type Draw, drawsOf } from './support/attend/random-views.js';
import { itemCost, readWork } from './support/attend/read-work.js';

const RUNS = Number(process.env.LOWBIT_KV_PROPERTY_RUNS ?? 30);
const LONGEST = 131_072;

const DEVICES = [
  { name: '8 kv heads of 132', slots: 16 },
  { name: '32 kv heads of 132', slots: 4 },
  { name: '1 kv head of 132', slots: 132 },
];
const LENGTHS: Record<string, (draw: Draw) => number> = {
  'from 1 token on, by powers': (draw) => Math.ceil(LONGEST ** (draw(1000) / 999)),
  'from 1 token on': (draw) => 1 + draw(LONGEST),
  'one length': () => LONGEST,
  'very short and very long': (draw) => (draw(2) === 0 ? 1 : LONGEST),
};

/** Sequences of pages, and a last one that is not full yet: outside of pages. */
function sequencesOf(lengths: readonly number[]) {
  return lengths.map((length, firstQuery) => {
    const whole = Math.floor(length / 128);
    const pages = Array.from({ length: whole }, (_, page) => ({
      source: 'packed' as const,
      page,
      slot: 0,
      count: 128,
      position: 128 * page,
    }));
    const rest = { source: 'input' as const, page: -1, slot: 0, count: length % 128 };
    const spans = [...pages, { ...rest, position: 128 * whole }].filter(({ count }) => count > 0);
    const view = { spans, statistics: -1 };
    return { firstQuery, queries: 1, length, key: view, value: view };
  });
}

describe.each(DEVICES)('$name', ({ slots }) => {
  describe.each(Object.entries(LENGTHS))('lengths %s', (_, drawLength) => {
    it('no item exceeds the even share by more than 15 %', () => {
      for (let seed = 0; seed < RUNS; seed++) {
        const draw = drawsOf(seed);
        const lengths = Array.from({ length: 1 + draw(24) }, () => drawLength(draw));
        const capacity = itemCapacity(lengths.length, slots);
        const list = new WorkList({ slots, capacity, slidingWindow: null });
        list.update(sequencesOf(lengths));
        const costs = readWork(list).items.map(itemCost);
        const even = costs.reduce((sum, cost) => sum + cost, 0) / slots;
        // Items are of whole pages, and of at least one.
        const share = Math.max(even * 1.15, 8);
        expect(Math.max(...costs), lengths.join()).toBeLessThanOrEqual(share + 8);
        expect(costs.length).toBeLessThanOrEqual(capacity);
      }
    });

    it('long batches end within 20 % of even, and on average within 7 %', () => {
      let longest = 0;
      let sum = 0;
      let batches = 0;
      for (let seed = 0; seed < RUNS; seed++) {
        const draw = drawsOf(seed);
        const rows = 1 + draw(24 + 2 * slots);
        const costs = Array.from({ length: rows }, () => Math.ceil(drawLength(draw) / 16));
        const even = costs.reduce((sum, cost) => sum + cost, 0) / slots;
        // Below this what it takes to start an item counts more than what is even.
        if (even < 8 * 64) continue;
        const { counts, order } = balance(costs, slots, itemCapacity(costs.length, slots));
        const time = makespan(costs, counts, order, slots, 0);
        longest = Math.max(longest, time / even);
        sum += time / even;
        batches++;
      }
      expect(batches).toBeGreaterThan(RUNS / 10);
      expect(longest).toBeLessThan(1.2);
      expect(sum / batches).toBeLessThan(1.07);
    });
  });
});

it('equal sequences that divide the device are split alike, in one wave', () => {
  for (const [rows, slots] of [
    [1, 16],
    [8, 16],
    [16, 16],
    [2, 4],
  ] as const) {
    const costs = Array.from({ length: rows }, () => 8 * 1024);
    const { counts } = balance(costs, slots, itemCapacity(rows, slots));
    expect([...counts]).toEqual(costs.map(() => slots / rows));
  }
});

it('more sequences than slots have an item each when there is no room for more', () => {
  const costs = Array.from({ length: 30 }, (_, row) => 8 * (1 + row));
  const { counts, order } = balance(costs, 4, 30);
  expect([...counts]).toEqual(costs.map(() => 1));
  expect(order[0]).toBe(29);
});

it('a capacity in between is used, and not exceeded', () => {
  const { counts } = balance([8 * 1024, 8 * 1024, 8], 16, 9);
  expect([...counts]).toEqual([4, 4, 1]);
});

it('nothing costs nothing', () => {
  const { counts } = balance([0, 0], 16, 40);
  expect([...counts]).toEqual([1, 1]);
});

it('a launch ends with its longest item, whichever comes last', () => {
  expect(makespan([10, 1], [1, 1], [0, 1], 2, 0)).toBe(10);
  expect(makespan([10, 1, 12], [1, 1, 2], [2, 0, 1], 2, 0)).toBe(16);
});
