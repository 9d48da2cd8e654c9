// The compatibility table says what the golden comparisons measure, and that is what is promised.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { acceptanceRows, compatibilityDocument, documentPath } from '../src/document.js';

const rows = await acceptanceRows();

test('docs/compatibility.md is up to date (pnpm docs:generate)', async () => {
  expect(await compatibilityDocument(rows)).toBe(readFileSync(documentPath, 'utf8'));
});

describe('what is promised', () => {
  const shares = rows.flatMap(({ scheme, mode, compared, codes, parameters, decoded }) =>
    [codes, parameters, decoded]
      .filter((share) => share !== null)
      .map((share) => ({ name: `${scheme}, ${mode}: ${compared}`, mode, share })),
  );

  test('every scheme and mode is there, and nothing is empty', () => {
    const modes = new Set(rows.map(({ scheme, mode }) => `${scheme} ${mode}`));
    expect([...modes]).toEqual([
      'KIVI compat',
      'KIVI normative',
      'KIVI compat and normative',
      'InnerQ compat',
      'InnerQ simulation',
      'InnerQ normative',
      'Oaken simulation',
      'Oaken normative',
    ]);
    for (const { name, share } of shares) expect(share.of, name).toBeGreaterThan(0);
  });

  test('compatibility modes and simulations are equal everywhere', () => {
    for (const { name, mode, share } of shares)
      if (mode !== 'normative') expect(share.equal, name).toBe(share.of);
  });

  test('normative codes are equal but for ties: under 2 % of these cases, which were made to have them', () => {
    for (const { scheme, mode, codes } of rows) {
      if (mode !== 'normative' || codes === null) continue;
      expect(codes.equal / codes.of, scheme).toBeGreaterThan(0.98);
    }
  });
});
