// Case cache-fork-copy-on-write: branches that share a part-filled page do not see each other, nor free each other.
import { expect, it } from 'vitest';
import type { Sequence } from '../../src/index.js';
import { tokenIdRange } from '../../src/testing/index.js';
import { exactSchemes, someExactSchemes } from '../support/exact-schemes.js';
import {
  appendIds,
  expectContents,
  expectMean32,
  expectPattern,
  openCache,
} from '../support/pointer-cache.js';
import { loadCase } from '../testing/load-case.js';

interface Expected {
  parentBeforeTruncate: number[];
  child: number[];
  grandchild: number[];
  parentAfterTruncate: number[];
}
const { input, expected } = loadCase<{ ops: string[] }, Expected>('cache-fork-copy-on-write');

it('is the program this test runs', () => {
  expect(input.ops).toEqual([
    'parent appends ids 0..39',
    'fork child',
    'parent appends 1000..1029',
    'child appends 2000..2004',
    'fork grandchild of child',
    'child is freed',
    'grandchild appends 3000..3099',
    'parent truncated to 10',
  ]);
});

const rows = [...exactSchemes({ residual: 32 }), ...someExactSchemes([0, 128])].flatMap((named) =>
  [1, 100].map((chunk) => ({ ...named, chunk })),
);

it.each(rows)('steps of $chunk: $name', async ({ scheme, chunk }) => {
  const cache = await openCache(scheme);
  const before = (await cache.stats()).bytes;
  expect(before.live).toBe(0);
  const append = (sequence: Sequence, first: number, count: number) =>
    appendIds(cache, sequence, tokenIdRange(first, count), { chunk });
  const parent = cache.createSequence();
  await append(parent, 0, 40);
  const child = cache.fork(parent);
  await append(parent, 1000, 30);
  await append(child, 2000, 5);
  const childIds = [...tokenIdRange(0, 40), ...tokenIdRange(2000, 5)];
  const parentIds = [...tokenIdRange(0, 40), ...tokenIdRange(1000, 30)];
  await expectMean32(cache, parent, expected.parentBeforeTruncate);
  await expectContents(cache, parent, parentIds);
  await expectMean32(cache, child, expected.child);
  await expectContents(cache, child, childIds);

  const grandchild = cache.fork(child);
  cache.disposeSequence(child);
  await append(grandchild, 3000, 100);
  await expectMean32(cache, grandchild, expected.grandchild);
  await expectContents(cache, grandchild, [...childIds, ...tokenIdRange(3000, 100)]);
  await expectPattern(cache, grandchild, 2004);
  await expectContents(cache, parent, parentIds);

  cache.truncate(parent, 10);
  await expectMean32(cache, parent, expected.parentAfterTruncate);
  await expectContents(cache, parent, tokenIdRange(0, 10));
  await expectContents(cache, grandchild, [...childIds, ...tokenIdRange(3000, 100)]);

  cache.disposeSequence(parent);
  cache.disposeSequence(grandchild);
  expect((await cache.stats()).bytes).toEqual(before);
});
