// Tests that run a share a day: every one within a cycle, and some on every day.
import { expect, it } from 'vitest';
import { elementsOf } from './support/share-of-today.js';

it.each([
  [3, 4],
  [4, 4],
  [9, 4],
  [1, 7],
])('%i tests in %i parts: none is left out, no day is empty', (count, of) => {
  const all = Array.from({ length: count }, (_, i) => i);
  const parts = Array.from({ length: of }, (_, part) => elementsOf(all, { part, of }));
  expect(parts.filter((part) => part.length === 0)).toEqual([]);
  expect([...new Set(parts.flat())].sort((a, b) => a - b)).toEqual(all);
  if (count >= of) expect(parts.flat()).toHaveLength(count);
});
