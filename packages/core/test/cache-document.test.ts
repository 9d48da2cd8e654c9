// docs/cache.md is a program: it runs and prints what it says.
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import * as core from '../src/index.js';
import { documentProgram, runProgram } from './support/document-program.js';

it('docs/cache.md runs and prints what it says', async () => {
  const text = readFileSync(new URL('../docs/cache.md', import.meta.url), 'utf8');
  const { code, expected } = documentProgram(text);
  expect(code.split('\n').length).toBeGreaterThan(100);
  expect(await runProgram(code, { '@lowbit-kv/core': core })).toBe(expected);
});
