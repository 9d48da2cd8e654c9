// Work lists of random views: every token that a query sees, once, where it lies.
import type { AttendSequence, Span } from '@lowbit-kv/core';
import { describe, expect, it } from 'vitest';
import { chooseBlocks, itemCapacity, slotsOf, WorkList } from '../src/attend/work-list.js';
import { drawsOf, randomBatch, visibleTokens, withQueries } from './support/attend/random-views.js';
import { type Item, readWork, tokensOf } from './support/attend/read-work.js';

const RUNS = Number(process.env.LOWBIT_KV_PROPERTY_RUNS ?? 300);

const WINDOWS = [null, { size: 100, sinks: 0 }, { size: 300, sinks: 4 }];

describe('random batches', () => {
  const seen = { pages: 0, rests: 0, splits: 0, hidden: 0, queries: 0, empty: 0, waves: 0 };

  it.each(Array.from({ length: RUNS }, (_, seed) => seed))('seed %i', (seed) => {
    const draw = drawsOf(seed);
    const sequences = randomBatch(draw, 12, seed % 30 === 0 ? 20_000 : 1000);
    const slidingWindow = WINDOWS[draw(3)] as (typeof WINDOWS)[number];
    const queries = sequences.reduce((sum, sequence) => sum + sequence.queries, 0);
    const slots = 1 + draw(20);
    const capacity = draw(2) === 0 ? Math.max(1, queries) : itemCapacity(queries, slots);
    const list = new WorkList({ slots, capacity, slidingWindow });
    list.update(sequences);
    const work = readWork(list);
    expect(work.items.length).toBeLessThanOrEqual(Math.max(capacity, queries));

    const byRow = itemsByRow(work.items);
    expect([...byRow.keys()].sort((a, b) => a - b)).toEqual(
      Array.from({ length: queries }, (_, row) => row),
    );
    for (const sequence of sequences) {
      for (let query = 0; query < sequence.queries; query++) {
        const items = byRow.get(sequence.firstQuery + query) as Item[];
        const expected = visibleTokens(sequence, query, slidingWindow);
        const found = new Map<number, string>();
        for (const item of items) tokensOf(work, item, found);
        expect(sorted(found)).toEqual(sorted(expected));
        expect(items.map(({ split }) => split)).toEqual(items.map((_, index) => index));
        for (const item of items) {
          expect(item.splits).toBe(items.length);
          expect(item.keyStatistics | 0).toBe(sequence.key.statistics);
          expect(item.valueStatistics | 0).toBe(sequence.value.statistics);
          if (items.length > 1) expect(item.pages + item.rests).toBeGreaterThan(0);
        }
        seen.splits += items.length - 1;
        if (query < sequence.queries - 1) seen.queries++;
        if (expected.size === 0) seen.empty++;
        seen.hidden += sequence.length - expected.size;
      }
    }
    const total = (count: 'pages' | 'rests') =>
      work.items.reduce((sum, item) => sum + item[count], 0);
    // Query tokens of one sequence share what they see.
    if (sequences.every(({ queries }) => queries <= 1))
      expect([total('pages'), total('rests')]).toEqual([work.pages.length, work.rests.length]);
    seen.pages += work.pages.length;
    seen.rests += work.rests.length;
    if (queries > slots) seen.waves++;
  });

  it('met everything it is there for', () => {
    for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(20);
  });
});

const BLOCKS = [
  { queries: 3, room: 3, slots: 5, areForOne: false },
  { queries: 8, room: 8, slots: 4, areForOne: false },
];

describe('random batches in blocks of query tokens', () => {
  const seen = { blocks: 0, partial: 0, splits: 0, hidden: 0, single: 0 };

  it.each(Array.from({ length: RUNS }, (_, seed) => seed))('seed %i', (seed) => {
    const draw = drawsOf(7000 + seed);
    const sequences = withQueries(draw, randomBatch(draw, 6, 1000), [1, 3, 20][seed % 3] as number);
    const queries = sequences.reduce((sum, sequence) => sum + sequence.queries, 0);
    const slots = 1 + draw(20);
    const capacity = itemCapacity(queries, slots);
    const list = new WorkList({ slots, blocks: BLOCKS, capacity, slidingWindow: null });
    list.update(sequences);
    expect(list.blockKind).toBe(chooseBlocks(sequences, BLOCKS));
    const most = list.blockKind === undefined ? 1 : BLOCKS[list.blockKind]!.queries;
    const work = readWork(list);
    const byRow = itemsByRow(work.items);
    let rows = 0;
    for (const sequence of sequences) {
      for (let first = 0; first < sequence.queries; first += most) {
        const items = byRow.get(sequence.firstQuery + first) as Item[];
        const count = Math.min(most, sequence.queries - first);
        const position = sequence.length - sequence.queries + first;
        const found = new Map<number, string>();
        for (const item of items) {
          expect(item).toMatchObject({ position, queries: count, splits: items.length });
          tokensOf(work, item, found);
        }
        for (let query = 0; query < count; query++) {
          const shown = [...found].filter(([at]) => at <= position + query);
          const expected = visibleTokens(sequence, first + query, null);
          expect(sorted(new Map(shown))).toEqual(sorted(expected));
          seen.hidden += found.size - expected.size;
        }
        rows++;
        seen.splits += items.length - 1;
        if (most > 1) seen.blocks++;
        if (count < most) seen.partial++;
        if (most === 1) seen.single++;
      }
    }
    expect(byRow.size).toBe(rows);
  });

  it('met everything it is there for', () => {
    for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(20);
  });
});

describe('blocks of query tokens', () => {
  const sequence = (queries: number) => ({
    ...sequenceOf(300, [span('packed', 1, 0, 128, 0), span('window', 2, 0, 32, 128)]),
    queries,
  });

  it.each([
    [[], undefined],
    [[0, 1], undefined],
    [[1, 2], 0],
    [[3, 3], 0],
    [[4, 1], 1],
    [[8], 1],
    [[2000], 1],
  ])('of sequences with %j', (queries, kind) => {
    expect(chooseBlocks(queries.map(sequence), BLOCKS)).toBe(kind);
    expect(chooseBlocks(queries.map(sequence))).toBe(undefined);
  });

  it('meet single query tokens too where no other kernel has room for their heads', () => {
    const blocks = BLOCKS.map((block) => ({ ...block, areForOne: true }));
    const kinds = [[], [1, 1], [4, 1]].map((queries) =>
      chooseBlocks(queries.map(sequence), blocks),
    );
    expect(kinds).toEqual([0, 0, 1]);
  });

  it('are no more items than there is room for', () => {
    const pages = Array.from({ length: 64 }, (_, page) => span('packed', page, 0, 128, 128 * page));
    const options = { capacity: 1000, slidingWindow: null, blocks: [{ ...BLOCKS[0]!, slots: 40 }] };
    const counts = [undefined, 7].map((room) => {
      const list = new WorkList({ slots: 1, ...options });
      list.update([{ ...sequenceOf(8192, pages), queries: 3 }], room);
      return list.items.length;
    });
    expect(counts).toEqual([40, 7]);
  });

  it('stay as they are once they are fixed', () => {
    const options = { slots: 4, capacity: 40, slidingWindow: null };
    const blocked = new WorkList({ ...options, blocks: BLOCKS });
    blocked.fix();
    const kinds = [4, 1, 9].map((queries) => {
      blocked.update([sequence(queries)]);
      return blocked.blockKind;
    });
    expect(kinds).toEqual([1, 1, 1]);
    expect(blocked.items.length).toBe(2);
    const single = new WorkList({ ...options, blocks: BLOCKS });
    single.update([sequence(1)]);
    single.fix();
    single.update([sequence(9)]);
    expect([single.blockKind, single.items.length]).toEqual([undefined, 9]);
  });
});

/** Throws where items of a row do not follow one another. */
function itemsByRow(items: readonly Item[]): Map<number, Item[]> {
  const rows = new Map<number, Item[]>();
  let last = -1;
  for (const item of items) {
    const known = rows.get(item.sequence);
    if (known !== undefined && last !== item.sequence)
      throw new Error(`items of row ${item.sequence} are apart`);
    if (known === undefined) rows.set(item.sequence, [item]);
    else known.push(item);
    last = item.sequence;
  }
  return rows;
}

const sorted = (places: ReadonlyMap<number, string>) =>
  [...places].sort(([a], [b]) => a - b).map(([position, place]) => `${position}: ${place}`);

const span = (
  source: Span['source'],
  page: number,
  slot: number,
  count: number,
  position: number,
): Span => ({ source, page, slot, count, position });

function sequenceOf(
  length: number,
  key: readonly Span[],
  value: readonly Span[] = key,
): AttendSequence {
  return {
    firstQuery: 0,
    queries: 1,
    length,
    key: { spans: key, statistics: -1 },
    value: { spans: value, statistics: -1 },
  };
}

it('lays tables out as kernels read them', () => {
  const key = [
    span('packed', 7, 0, 128, 0),
    span('packed', 9, 0, 2, 128),
    span('window', 3, 5, 2, 130),
  ];
  const value = [
    span('packed', 4, 0, 128, 0),
    span('packed', 2, 64, 1, 128),
    span('input', -1, 6, 3, 129),
  ];
  const list = new WorkList({ slots: 1, capacity: 4, slidingWindow: null });
  list.update([sequenceOf(132, key, value)]);
  expect([...new Uint32Array(list.pages.bytes.slice().buffer)]).toEqual([7, 4, 0, 128 << 16]);
  const [window, input] = [2 ** 30, 2 ** 31];
  expect([...new Uint32Array(list.rests.bytes.slice().buffer)]).toEqual([
    ...[9 * 128, 2 * 128 + 64, 128, 0],
    ...[9 * 128 + 1, input + 6, 129, 0],
    ...[window + 3 * 32 + 5, input + 7, 130, 0],
    ...[window + 3 * 32 + 6, input + 8, 131, 0],
  ]);
  expect([...new Uint32Array(list.items.bytes.slice().buffer)]).toEqual([
    ...[0, 0, 1, 0, 4, 2, 0, 1],
    ...[2 ** 32 - 1, 2 ** 32 - 1, 131, 1],
  ]);
});

it('cuts pages at the ends of a sliding window', () => {
  const pages = [0, 1, 2].map((page) => span('packed', page, 0, 128, 128 * page));
  const list = new WorkList({
    slots: 1,
    capacity: 1,
    slidingWindow: { size: 200, sinks: 3 },
  });
  list.update([sequenceOf(384, pages)]);
  expect(readWork(list).pages).toEqual([
    { key: 0, value: 0, position: 0, slots: 3 << 16 },
    { key: 1, value: 1, position: 184, slots: 56 | (72 << 16) },
    { key: 2, value: 2, position: 256, slots: 128 << 16 },
  ]);
});

describe('layers of a step', () => {
  const pages = Array.from({ length: 40 }, (_, page) => span('packed', page, 0, 128, 128 * page));
  const sequence = sequenceOf(5120, pages);

  it('share a list while they show the same views', () => {
    const list = new WorkList({ slots: 4, capacity: 8, slidingWindow: null });
    list.update([sequence]);
    const { version } = list;
    const { words } = list.pages;
    list.update([{ ...sequence }]);
    const copied = { spans: pages.map((page) => ({ ...page })), statistics: -1 };
    list.update([{ ...sequence, key: copied }]);
    expect(list.version).toBe(version);
    expect(list.pages.words).toBe(words);
  });

  it.each([
    [
      'other spans',
      { key: { spans: pages.with(7, span('packed', 41, 0, 128, 7 * 128)), statistics: -1 } },
    ],
    ['other values', { value: { spans: pages.slice(1), statistics: -1 } }],
    [
      'a span that is shorter',
      { key: { spans: pages.with(39, span('packed', 39, 0, 9, 39 * 128)), statistics: -1 } },
    ],
    ['other statistics of keys', { key: { spans: pages, statistics: 3 } }],
    ['other statistics of values', { value: { spans: pages, statistics: 3 } }],
    ['another length', { length: 5121 }],
    ['another number of queries', { queries: 2 }],
    ['another row', { firstQuery: 1 }],
  ])('make another for %s', (_, change) => {
    const list = new WorkList({ slots: 4, capacity: 8, slidingWindow: null });
    list.update([sequence]);
    list.update([{ ...sequence, ...change }]);
    expect(list.version).toBe(2);
    list.update([sequence, { ...sequence, firstQuery: 1 }]);
    expect(list.version).toBe(3);
    list.update([]);
    expect([list.version, list.items.length]).toEqual([4, 0]);
  });
});

it('refuses more query tokens than it has items', () => {
  const list = new WorkList({ slots: 4, capacity: 2, slidingWindow: null });
  const sequence = { ...sequenceOf(9, [span('window', 0, 0, 9, 0)]), queries: 3 };
  expect(() => list.update([sequence])).toThrow(/OPTION_INVALID.*more query tokens.*at most 2/s);
});

it('counts slots by what the card holds at once', () => {
  expect([slotsOf(132, 8), slotsOf(132, 2), slotsOf(132, 200), slotsOf(264, 8)]).toEqual([
    16, 66, 1, 33,
  ]);
  expect([itemCapacity(1, 16), itemCapacity(8, 16), itemCapacity(20, 16)]).toEqual([16, 64, 80]);
});

it('query tokens of a prompt share one table', () => {
  const list = new WorkList({ slots: 16, capacity: 4096, slidingWindow: null });
  const spans = [span('packed', 3, 0, 128, 0), span('input', -1, 0, 1000, 128)];
  const view = { spans, statistics: -1 };
  list.update([{ firstQuery: 0, queries: 1000, length: 1128, key: view, value: view }]);
  expect([list.pages.length, list.rests.length]).toEqual([1, 1000]);
});

describe('pages of several entries', () => {
  const packed = (page: number, slot: number, count: number, position: number): Span => ({
    ...{ source: 'packed', page, slot, count, position },
  });

  it('are cut where entries end', () => {
    const list = new WorkList({
      ...{ slots: 1, capacity: 1, slidingWindow: null },
      ...{ pageTokens: { key: 256, value: 128 }, entryTokens: 128 },
    });
    const key = { spans: [packed(3, 0, 256, 0), packed(5, 0, 40, 256)], statistics: -1 };
    const value = {
      spans: [packed(9, 0, 128, 0), packed(2, 0, 128, 128), packed(4, 0, 40, 256)],
      statistics: -1,
    };
    list.update([{ key, value, length: 296, queries: 1, firstQuery: 0 } as AttendSequence]);
    const { words, structWords } = list.pages;
    const entries = Array.from({ length: list.pages.length }, (_, i) => [
      ...words.subarray(i * structWords, i * structWords + 4),
    ]);
    expect(entries).toEqual([
      [6, 9, 0, 128 << 16],
      [7, 2, 128, 128 << 16],
      [10, 4, 256, 40 << 16],
    ]);
    expect(list.rests.length).toBe(0);
  });

  it('of both tensors need not be in equal slots of blocks', () => {
    const list = new WorkList({
      ...{ slots: 1, capacity: 1, slidingWindow: null },
      ...{ pageTokens: { key: 256, value: 256 }, entryTokens: 128 },
    });
    const key = { spans: [packed(1, 100, 150, 0)], statistics: -1 };
    const value = { spans: [packed(1, 228, 28, 0), packed(2, 0, 122, 28)], statistics: -1 };
    list.update([{ key, value, length: 150, queries: 1, firstQuery: 0 } as AttendSequence]);
    const { words, structWords } = list.pages;
    const entries = Array.from({ length: list.pages.length }, (_, i) => [
      ...words.subarray(i * structWords, i * structWords + 4),
    ]);
    expect(entries).toEqual([
      [2, 3, 0, 100 | (28 << 16)],
      [3, 4, 28, 122 << 16],
    ]);
  });

  it('end there too where a run begins inside of one', () => {
    const list = new WorkList({
      ...{ slots: 1, capacity: 1, slidingWindow: null },
      ...{ pageTokens: { key: 256, value: 256 }, entryTokens: 128 },
    });
    const view = { spans: [packed(1, 100, 150, 0)], statistics: -1 };
    const sequence = { key: view, value: view, length: 150, queries: 1, firstQuery: 0 };
    list.update([sequence as AttendSequence]);
    expect(readWork(list).pages).toEqual([
      { key: 2, value: 2, position: 0, slots: 100 | (28 << 16) },
      { key: 3, value: 3, position: 28, slots: 122 << 16 },
    ]);
  });

  it('are none where tensors have a run in other slots: tokens are met one by one', () => {
    const list = new WorkList({
      ...{ slots: 1, capacity: 1, slidingWindow: null },
      ...{ pageTokens: { key: 128, value: 128 }, entryTokens: 128 },
    });
    const key = { spans: [packed(1, 100, 20, 0)], statistics: -1 };
    const value = { spans: [packed(2, 4, 20, 0)], statistics: -1 };
    list.update([{ key, value, length: 20, queries: 1, firstQuery: 0 } as AttendSequence]);
    expect(list.pages.length).toBe(0);
    const { words, structWords } = list.rests;
    const rests = Array.from({ length: list.rests.length }, (_, i) => [
      ...words.subarray(i * structWords, i * structWords + 3),
    ]);
    expect(rests).toEqual(
      Array.from({ length: 20 }, (_, i) => [128 + 100 + i, 2 * 128 + 4 + i, i]),
    );
  });
});
