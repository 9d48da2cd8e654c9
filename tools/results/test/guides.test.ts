// Figures of guides and READMEs are those of docs/results.md and benchmarks/results.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { describe, expect, test } from 'vitest';
import { guideDocuments } from '../src/guide-parts.js';
import { rowOf, tableIn } from '../src/markdown-tables.js';

describe('up to date (pnpm docs:generate)', async () => {
  test.each(
    (await guideDocuments()).map(({ path, text }) => [relative('.', path), path, text] as const),
  )('%s', (_, path, text) => {
    expect(text).toBe(readFileSync(path, 'utf8'));
  });
});

describe('tables are read back', () => {
  const text =
    '| a | b |\n| --- | --- |\n| **x** | 1 |\n| y \\| z | 2 |\n\n| c |\n| --- |\n| 3 |\n';

  test('by the cells of their head', () => {
    expect(tableIn(text, 'a').rows).toEqual([
      ['**x**', '1'],
      ['y \\| z', '2'],
    ]);
    expect(rowOf(tableIn(text, 'c'), '3')).toEqual(['3']);
  });

  test('what is not there, or there twice, is told', () => {
    expect(() => tableIn(text, 'd')).toThrow('0 tables begin with d');
    expect(() => tableIn(`${text}\n${text}`, 'a')).toThrow('2 tables begin with a');
    expect(() => rowOf(tableIn(text, 'a'), 'w')).toThrow('no row w');
  });
});
