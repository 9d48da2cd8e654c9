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

const key = view(span('packed', 3, 0, 128), span('input', -1, 128, 2));
const value = view(span('packed', 1, 0, 100), span('window', 2, 100, 30));

it('cuts where either tensor changes its source', () => {
  const words = new SegmentTables().of({ key, value }, placeAt(256, 10), placeAt(512));
  const rows = Array.from({ length: words.length / SEGMENT_WORDS }, (_, i) =>
    Array.from(words.subarray(i * SEGMENT_WORDS, (i + 1) * SEGMENT_WORDS)),
  );
  expect(rows).toEqual([
    [0, 100, 0, (256 + 192) / 4, 0, 0, (512 + 64) / 4, 0],
    [100, 28, 0, (256 + 192) / 4, 100, 1, (512 + 128) / 2, 0],
    [128, 2, 2, 10, 0, 1, (512 + 128) / 2, 28],
  ]);
});

it('gives the same words while views and places stay', () => {
  const tables = new SegmentTables();
  const words = tables.of({ key, value }, placeAt(256), placeAt(512));
  expect(tables.of({ key, value }, placeAt(256), placeAt(512))).toBe(words);
  const moved = tables.of({ key, value }, placeAt(320), placeAt(512));
  expect(moved[3]).toBe((320 + 192) / 4);
  expect(tables.of({ key, value }, placeAt(256, 7), placeAt(512))[2 * SEGMENT_WORDS + 3]).toBe(7);
  const shorter = view(span('packed', 1, 0, 100));
  expect(tables.of({ key, value: shorter }, placeAt(256), placeAt(512))).toHaveLength(
    SEGMENT_WORDS,
  );
  expect(tables.of({ key, value }, placeAt(256), placeAt(512))).toBe(words);
});
