// Fields of packed pages, and sections of snapshots: what tools show of bytes.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { GOLDEN_CASES, goldenPlan } from '../scripts/golden-cases.js';
import { snapshotPlan } from '../scripts/golden-snapshot.js';
import type { PackedTensorPlan } from '../src/index.js';
import { pageFields, parseSnapshotHeader, snapshotSections } from '../src/index.js';

const golden = (name: string) => readFileSync(new URL(`golden/${name}`, import.meta.url));

describe.each(GOLDEN_CASES.map((one) => [one.name, one] as const))('%s', (_, one) => {
  const plan = goldenPlan(one).layers[0]?.key as PackedTensorPlan;
  const page = golden(`${one.name}.page.bin`);

  test('fields follow one another and cover every byte that is not zero', () => {
    const fields = pageFields(plan.layout);
    const rest = Uint8Array.from(page);
    let end = 0;
    for (const { offset, bytes } of fields) {
      expect(offset).toBeGreaterThanOrEqual(end);
      end = offset + bytes;
      rest.fill(0, offset, end);
    }
    expect(end).toBeLessThanOrEqual(page.length);
    expect(rest.every((byte) => byte === 0)).toBe(true);
    expect(new Set(fields.map(({ name }) => name)).has('codes')).toBe(true);
  });
});

test('sections of the golden snapshot, as docs/block-format.md lists them', () => {
  const bytes = golden('snapshot.bin');
  const payload = 12 + bytes.readUInt32LE(8);
  const sections = snapshotSections(
    parseSnapshotHeader(bytes.subarray(12, payload)),
    snapshotPlan(),
  ).map(({ unit, tensor, kind, offset, pages, pageBytes }) =>
    [payload + offset, unit.layer, tensor, kind, pages, pageBytes].join(' '),
  );
  expect(sections).toHaveLength(12);
  expect(sections.slice(0, 4)).toEqual([
    '2863 0 key packed 3 160',
    '3343 0 key window 4 1024',
    '7439 0 key statistics 1 32',
    '7471 0 value packed 4 576',
  ]);
  expect(sections.at(-1)).toBe('31343 2 value window 4 1024');
});
