// THIRD_PARTY.md and docs/dependencies.md are of what is installed, and licences are accepted ones.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ACCEPTED, DOCUMENT_PATH, thirdPartyDocument } from '../src/document.js';
import { installedPackages, ROOT } from '../src/installed.js';

const packages = installedPackages();
const ours = packages.filter(({ usedBy }) => usedBy.length > 0);

test('THIRD_PARTY.md is up to date (pnpm docs:generate)', () => {
  expect(packages.length).toBeGreaterThan(ours.length);
  expect(readFileSync(DOCUMENT_PATH, 'utf8')).toBe(thirdPartyDocument(packages));
});

test('every licence is one that may be shipped', () => {
  const others = packages.filter(({ licence }) => !ACCEPTED.includes(licence));
  expect(others.map(({ name, licence }) => `${name}: ${licence}`)).toEqual([]);
});

test('docs/dependencies.md reviews every package that ours name, and no other', () => {
  const text = readFileSync(join(ROOT, 'docs/dependencies.md'), 'utf8');
  const reviewed = [...text.matchAll(/^\| `([^`]+)` \|/gm)].map(([, name]) => name);
  expect(reviewed.sort()).toEqual(ours.map(({ name }) => name).sort());
});

test('install scripts run for listed packages only', () => {
  const workspace = readFileSync(join(ROOT, 'pnpm-workspace.yaml'), 'utf8');
  const allowed = /^allowBuilds:\n((?: {2}.*\n)+)/m.exec(workspace)?.[1] ?? '';
  const names = [...allowed.matchAll(/^ {2}"?([@\w/.-]+)"?: true$/gm)].map(([, name]) => name);
  expect(names).toEqual(['esbuild']);
});
