// docs/reliability.md names tests that exist, at least one for every promise.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { repositoryRoot } from '../src/workspace.js';

const text = readFileSync(join(repositoryRoot, 'docs/reliability.md'), 'utf8');
const sections = text.split(/^## /m).slice(1);
const filesOf = (part: string) =>
  [...part.matchAll(/`((?:packages|tools)\/[^`]+)`/g)].map((m) => m[1]);

it('names files that exist', () => {
  const missing = filesOf(text).filter((path) => !existsSync(join(repositoryRoot, path as string)));
  expect(filesOf(text).length).toBeGreaterThan(15);
  expect(missing).toEqual([]);
});

it.each(sections.map((part) => [part.split('\n')[0], part]))(
  '%s: a test shows it',
  (name, part) => {
    if (name === 'For longer') return expect(part).toContain('soak --backend');
    expect(filesOf(part as string).filter((path) => path?.endsWith('.test.ts'))).not.toEqual([]);
  },
);
