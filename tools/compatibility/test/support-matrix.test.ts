// The support matrix says what the backends answer, and no question about a shipped preset throws.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  BACKENDS,
  HEAD_DIMS,
  matrixDocument,
  matrixPath,
  matrixRows,
} from '../src/support-matrix.js';

const rows = await matrixRows();

test('docs/support-matrix.md is up to date (pnpm docs:generate)', () => {
  expect(matrixDocument(rows)).toBe(readFileSync(matrixPath, 'utf8'));
});

test('every backend is asked about every preset and head dim, and nothing is refused without a reason', () => {
  const presets = new Set(rows.map(({ scheme }) => scheme));
  expect(presets.size).toBeGreaterThan(50);
  expect(rows).toHaveLength(presets.size * BACKENDS.length);
  for (const { scheme, backend, answers } of rows) {
    expect(answers).toHaveLength(HEAD_DIMS.length);
    for (const { word, reasons } of answers) {
      expect(word, `${scheme} on ${backend}`).toMatch(/\w/);
      const isExplained = ['refused', 'general', 'emulated'].includes(word);
      expect(reasons.length > 0, `${scheme} on ${backend}: ${word}`).toBe(isExplained);
    }
  }
});

test('with head dim 128 no shipped preset is refused', () => {
  const refused = rows.filter(({ answers }) => answers[HEAD_DIMS.indexOf(128)]?.word === 'refused');
  expect(refused.map(({ scheme, backend }) => `${scheme} on ${backend}`)).toEqual([]);
});
