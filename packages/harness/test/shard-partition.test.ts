// How work is split over shards.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseShard } from '../src/index.js';
import { partition, unitNames, type WorkGroup } from '../src/work/partition.js';
import { refusal } from './support/failures.js';

const group = (name: string, setup: number, costs: readonly number[]): WorkGroup => ({
  setup,
  baseline: `${name} f16`,
  units: costs.map((cost, i) => ({ name: `${name} ${i}`, cost })),
});

/** What each shard has to do, setups included. */
function loads(groups: readonly WorkGroup[], shards: number): number[] {
  const shardOf = partition(groups, shards);
  return Array.from({ length: shards }, (_, i) =>
    groups.reduce((sum, { setup, baseline, units }) => {
      const own = units.filter(({ name }) => shardOf.get(name) === i + 1);
      const touched = own.length > 0 || (baseline !== null && shardOf.get(baseline) === i + 1);
      return sum + (touched ? setup : 0) + own.reduce((a, { cost }) => a + cost, 0);
    }, 0),
  );
}

/** The fullest shard of the best split, by trying every way to cut the list. */
function bestByTrying(groups: readonly WorkGroup[], shards: number): number {
  const units = groups.flatMap(({ setup, units }, g) =>
    units.map(({ cost }) => ({ g, setup, cost })),
  );
  const loadOf = (from: number, to: number) => {
    const part = units.slice(from, to);
    const setups = new Map(part.map(({ g, setup }) => [g, setup]));
    return [...setups.values(), ...part.map(({ cost }) => cost)].reduce((a, b) => a + b, 0);
  };
  const best = (from: number, left: number): number => {
    if (left === 1) return loadOf(from, units.length);
    let least = Number.POSITIVE_INFINITY;
    for (let to = from; to <= units.length; to++)
      least = Math.min(least, Math.max(loadOf(from, to), best(to, left - 1)));
    return least;
  };
  return best(0, shards);
}

describe('partition', () => {
  const drawn = fc.array(
    fc.record({
      setup: fc.nat(20),
      costs: fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 4 }),
    }),
    { minLength: 1, maxLength: 3 },
  );

  it('gives every unit to one shard, in order, and no split is more even', () => {
    fc.assert(
      fc.property(drawn, fc.integer({ min: 1, max: 4 }), (parts, shards) => {
        const groups = parts.map(({ setup, costs }, i) => group(`g${i}`, setup, costs));
        const shardOf = partition(groups, shards);
        const names = unitNames(groups);
        expect([...shardOf.keys()].sort()).toEqual([...names].sort());
        const order = names.map((name) => shardOf.get(name) as number);
        expect(order).toEqual(order.toSorted((a, b) => a - b));
        expect(order.every((shard) => shard >= 1 && shard <= shards)).toBe(true);
        expect(Math.max(...loads(groups, shards))).toBe(bestByTrying(groups, shards));
      }),
      { numRuns: 300 },
    );
  });

  it('keeps a window together where windows are enough, and cuts one where they are not', () => {
    const windows = [0, 1, 2, 3].map((i) => group(`w${i}`, 6, [4, 4, 4]));
    expect(loads(windows, 4)).toEqual([18, 18, 18, 18]);
    expect(loads(windows, 2)).toEqual([36, 36]);
    expect(loads(windows, 8)).toEqual([10, 14, 10, 14, 10, 14, 10, 14]);
    expect(Math.max(...loads(windows, 12))).toBe(10);
  });

  it('spreads few units over many shards, one each, and leaves the others empty', () => {
    const three = [group('c', 4, [4, 4, 4])];
    expect(loads(three, 5)).toEqual([8, 8, 8, 0, 0]);
    expect(loads([group('c', 4, [])], 2)).toEqual([4, 0]);
    expect(partition([], 3).size).toBe(0);
  });

  it('does not fill the first shards to the brim', () => {
    const even = loads([group('c', 0, new Array(10).fill(1))], 8);
    expect(even.toSorted()).toEqual([1, 1, 1, 1, 1, 1, 2, 2]);
  });

  it('takes long schemes into account', () => {
    const costs = [4, 4, 4, 4, 4, 4, 12, 12];
    expect(loads([group('c', 0, costs)], 4)).toEqual([12, 12, 12, 12]);
  });
});

describe('a shard', () => {
  it('is i/n, from 1', () => {
    expect(parseShard('3/8')).toEqual({ index: 3, of: 8 });
    expect(parseShard(' 1/1 ')).toEqual({ index: 1, of: 1 });
  });

  it.each([
    ['0/8', '1/8 to 8/8'],
    ['9/8', '1/8 to 8/8'],
    ['1/0', 'i/n, n from 1 to 100000'],
    ['1/100001', 'i/n, n from 1 to 100000'],
    ['-1/8', 'i/n, n from 1 to 100000'],
    ['1.5/8', 'i/n, n from 1 to 100000'],
    ['8', 'i/n, n from 1 to 100000'],
    ['', 'i/n, n from 1 to 100000'],
    ['1/8/2', 'i/n, n from 1 to 100000'],
  ])('%j is refused with what is valid', async (text, valid) => {
    const error = await refusal((async () => parseShard(text))(), 'OPTION_INVALID');
    expect(error.value).toBe(text);
    expect(error.valid).toContain(valid);
  });
});
