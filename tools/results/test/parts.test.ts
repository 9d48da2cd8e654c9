// The generated parts of docs/results.md on made-up reports.
import { readFileSync } from 'node:fs';
import type { CompareReport, MeasuredRow, TuneReport } from '@lowbit-kv/harness';
import { expect, test } from 'vitest';
import { fillParts } from '../../../packages/core/scripts/generated-parts.js';
import { EFFECTS } from '../src/effects.js';
import { generatedParts, packedFront } from '../src/parts.js';
import { secondsOfChildren } from '../src/run.js';

function row(id: string, bits: number, packed: number, nmse: number) {
  return {
    status: 'measured',
    id,
    bits: { attended: bits, packed: { total: packed } },
    key: { nmse: nmse / 2 },
    value: { nmse: nmse / 3 },
    output: { nmse, worstHead: { layer: 0, head: 0, nmse: 2 * nmse } },
    verdict: { level: 'care', reason: 'made up' },
  } as MeasuredRow;
}

const f16 = { ...row('f16', 16, 16, 0), verdict: { level: 'baseline', reason: 'exact' } };
const used = [...new Set(EFFECTS.flatMap(({ from, to }) => [from, to]))];
const effects = used.map((id, i) => row(id, 9 + i, 9 + i, 0.5));
const points = [
  row('small', 2.5, 2.25, 0.2),
  row('windowed', 4, 2.25, 0.05),
  row('middle', 3.5, 3.5, 0.1),
];
const refused = {
  status: 'refused',
  reason: 'the group size does not divide the head dim',
  verdict: { level: 'refused', reason: 'no' },
};
const report = {
  capture: { file: 'x', provenance: { model: 'A model', text: 'A text' }, layers: [0, 3] },
  backend: { id: 'reference' },
  replay: { description: 'replayed' },
  schemes: [f16, ...points, ...effects, { ...refused, id: 'wide' }, { ...refused, id: 'wider' }],
  paretoFront: ['small', 'middle', 'windowed'],
} as unknown as CompareReport;
const error = (nmse: number) => ({ nmse });
const tuning = {
  budgetBits: 3.25,
  fit: { first: 1, last: 2 },
  heldOut: { first: 3, last: 4 },
  windows: { sinks: 32, recent: 96 },
  allocation: {
    greedy: { gap: 0.031 },
    layers: [
      { layer: 3, key: 'k', keyBits: 4, value: 'v', valueBits: 2.5, bits: 3.5, error: 0.01 },
    ],
  },
  rows: ['tuned', 'pair', ...'hgfedcba'].map((id, i) => ({
    ...{ id, kind: 'preset', bits: 3, bitsWithWindows: 4 },
    fit: error(0.1),
    heldOut: error(0.2 - i / 100),
  })),
} as unknown as TuneReport;

const facts = {
  command: 'compare --all',
  date: '2026-01-02',
  machine: 'a machine',
  seconds: 20.4,
  processorSeconds: 39.6,
};
const parts = generatedParts(facts, report, { command: 'tune', report: tuning });
const cells = (part: string) =>
  (parts.get(part) ?? '')
    .split('\n')
    .slice(2)
    .map((line) => line.split('|').map((cell) => cell.trim()));

test('the parts are those of the document', () => {
  const document = readFileSync(new URL('../../../docs/results.md', import.meta.url), 'utf8');
  const filled = fillParts(document, parts);
  expect(filled).toContain('| windowed ');
  expect(filled).toContain('20 s, 40 s of processor time');
});

test('both fronts come by rising bits', () => {
  expect(cells('front').map(([, id]) => id)).toEqual(['small', 'middle', 'windowed']);
  expect(cells('packed-front').map(([, id, bits]) => `${id} ${bits}`)).toEqual(['windowed 2.25']);
  expect(packedFront([row('a', 1, 3, 0.1), row('b', 1, 3, 0.1), row('c', 1, 3, 0.2)])).toEqual(
    new Set(['a', 'b']),
  );
});

test('the best at each size, with windows and without', () => {
  const best = new Map(cells('sizes').map(([, limit, here, packed]) => [limit, [here, packed]]));
  expect(best.get('2.25 bits')).toEqual(['-', 'windowed (0.050)']);
  expect(best.get('2.5 bits')).toEqual(['small (0.20)', 'windowed (0.050)']);
  expect(best.get('3.5 bits')).toEqual(['middle (0.10)', 'windowed (0.050)']);
  expect(best.get('4 bits')).toEqual(['windowed (0.050)', 'windowed (0.050)']);
});

test('rows by bits with their mark, the refused by reason, the tuned against the best', () => {
  const shelf = cells('shelf').map(([, id, , mark]) => [id, mark]);
  expect(shelf.slice(0, 3)).toEqual([
    ['small', '*'],
    ['middle', '*'],
    ['windowed', '*'],
  ]);
  expect(shelf).toHaveLength(3 + used.length);
  expect(parts.get('refused')).toBe('- wide, wider: the group size does not divide the head dim');
  expect(parts.get('tuned')).toContain('3.1 % above this choice');
  expect(parts.get('tuned')).toMatch(/^\| 3 +\| k \(4\.00\) +\| v \(2\.50\) +\| 3\.50 \|/m);
  expect(parts.get('tuned')).toMatch(
    /\| pair .*\n\| a .*\n\| b .*\n\| c .*\n\| d .*\n\| e .*\n\| f [^\n]*$/,
  );
});

test('a pair whose scheme is gone is an error', () => {
  const without = { ...report, schemes: report.schemes.slice(0, -4) };
  expect(() => generatedParts(facts, without, { command: '', report: tuning })).toThrow(
    /was not measured; correct effects.ts/,
  );
});

test('processor time of the shell', () => {
  expect(secondsOfChildren('0m0.01s 0m0.00s\n1m2.50s 0m0.25s\n')).toBe(62.75);
  expect(() => secondsOfChildren('real 3')).toThrow(/unknown output/);
});
