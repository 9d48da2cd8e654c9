// Segments of views: what they say, and when they are made again.
import type { Span } from '@lowbit-kv/core';
import { expect, it } from 'vitest';
import { SEGMENT_WORDS, SegmentTables } from '../src/store/segments.js';
import type { TensorMemory } from '../src/store/tensor-memory.js';

/** Pages of 64 bytes from byte `first` on. */
function placeAt(first: number, inputHalf = 0) {
  const memory = {
    byteOf: (_kind: string, page: number) => first + 64 * page,
    wordOf: (_kind: string, page: number) => (first + 64 * page) / 4,
    halfOf: (_kind: string, page: number) => (first + 64 * page) / 2,
    sizeOf: () => 64,
  };
  return { memory: memory as unknown as TensorMemory, inputHalf };
}

const span = (source: Span['source'], page: number, position: number, count: number): Span => ({
  source,
  page,
  slot: 0,
  count,
  position,
});
const view = (...spans: Span[]) => ({ spans, statistics: -1 });

const rowsOf = (words: Uint32Array) =>
  Array.from({ length: words.length / SEGMENT_WORDS }, (_, i) =>
    Array.from(words.subarray(i * SEGMENT_WORDS, (i + 1) * SEGMENT_WORDS)),
  );

const key = view(span('packed', 3, 0, 128), span('input', -1, 128, 2));
const value = view(span('packed', 1, 0, 100), span('window', 2, 100, 30));

it('cuts where either tensor changes its source', () => {
  const { words, pages } = new SegmentTables().of(
    { key, value },
    placeAt(256, 10),
    placeAt(512),
    false,
  );
  expect(pages).toBe(0);
  expect(rowsOf(words)).toEqual([
    [0, 100, 0, (256 + 192) / 4, 0, 0, (512 + 64) / 4, 0],
    [100, 28, 0, (256 + 192) / 4, 100, 1, (512 + 128) / 2, 0],
    [128, 2, 2, 10, 0, 1, (512 + 128) / 2, 28],
  ]);
});

it('puts pages first, and cuts the rest into short segments', () => {
  const keys = view(span('window', 0, 0, 4), span('packed', 3, 4, 128), span('window', 0, 132, 40));
  const values = view(
    span('window', 0, 0, 4),
    span('packed', 1, 4, 128),
    span('window', 0, 132, 40),
  );
  const tables = new SegmentTables();
  const { words, pages, restTokens } = tables.of(
    { key: keys, value: values },
    placeAt(256),
    placeAt(512),
    true,
  );
  expect(pages).toBe(1);
  expect(restTokens).toBe(44);
  expect(rowsOf(words)).toEqual([
    [4, 128, 0, (256 + 192) / 4, 0, 0, (512 + 64) / 4, 0],
    [0, 4, 1, 256 / 2, 0, 1, 512 / 2, 0],
    [132, 16, 1, 256 / 2, 0, 1, 512 / 2, 0],
    [148, 16, 1, 256 / 2, 16, 1, 512 / 2, 16],
    [164, 8, 1, 256 / 2, 32, 1, 512 / 2, 32],
  ]);
  // Other slots: no page.
  const shifted = view({ ...span('packed', 1, 4, 100), slot: 28 });
  const other = tables.of({ key: keys, value: shifted }, placeAt(256), placeAt(512), true);
  expect(other.pages).toBe(0);
  expect(rowsOf(other.words).map(([position, count]) => [position, count])).toEqual([
    [4, 16],
    [20, 16],
    [36, 16],
    [52, 16],
    [68, 16],
    [84, 16],
    [100, 4],
  ]);
});

it('gives the same words while views and places stay', () => {
  const tables = new SegmentTables();
  const of = (values = value, keyPlace = placeAt(256)) =>
    tables.of({ key, value: values }, keyPlace, placeAt(512), false);
  const first = of();
  expect(of()).toBe(first);
  expect(of(value, placeAt(320)).words[3]).toBe((320 + 192) / 4);
  expect(of(value, placeAt(256, 7)).words[2 * SEGMENT_WORDS + 3]).toBe(7);
  const shorter = view(span('packed', 1, 0, 100));
  expect(of(shorter).words).toHaveLength(SEGMENT_WORDS);
  expect(of()).toBe(first);
});
