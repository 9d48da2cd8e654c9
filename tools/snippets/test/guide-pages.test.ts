// Pages of docs that are one program each: they run and print what they say.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  documentProgram,
  runProgram,
} from '../../../packages/core/test/support/document-program.js';
import { ROOT } from '../src/blocks.js';
import { GUIDE_PAGES } from '../src/guide-pages.js';

test.each(GUIDE_PAGES)('$file', { timeout: 120_000 }, async ({ file, modules, prepare }) => {
  const { code, expected } = documentProgram(readFileSync(join(ROOT, file), 'utf8'));
  expect(expected.split('\n').length).toBeGreaterThan(4);
  expect(await runProgram(code, modules, await prepare?.())).toBe(expected);
});
