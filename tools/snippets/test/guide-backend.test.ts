// docs/write-a-backend.md: the backend that it shows passes the contract suite for backends: a third of the plans a day.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as core from '@lowbit-kv/core';
import { backendChecks } from '@lowbit-kv/core/contract';
import { expect, test } from 'vitest';
import { documentProgram } from '../../../packages/core/test/support/document-program.js';
import { shareOfToday } from '../../../packages/core/test/support/share-of-today.js';
import { ROOT } from '../src/blocks.js';
import { ReaderFolder } from '../src/reader-folder.js';
import { runProgram } from '../src/run-program.js';

const { code } = documentProgram(readFileSync(join(ROOT, 'docs/write-a-backend.md'), 'utf8'));

/** Plans that transform, or hold keys before the rotary embedding: the page says so. */
const LEFT_OUT = [/transforms are not executed/, /before the rotary embedding are not executed/];

test('the smallest backend passes the suite', { timeout: 120_000 }, async () => {
  const made: core.Backend[] = [];
  const program = {
    modules: async () => ({ '@lowbit-kv/core': core }),
    given: () => ({ made }),
    holds: 'made.push(smallBackend()) === 1',
  };
  const text = code.replace(/^export const/gm, 'const');
  expect(await runProgram({ text, language: 'js' }, program, new ReaderFolder('.'))).toBe(true);
  const [backend] = made as [core.Backend];
  const share = shareOfToday('plans of the smallest backend', 3);
  const checks = backendChecks(backend, { mayRefuse: LEFT_OUT, share });
  const run = checks.filter(({ skipped }) => skipped.length === 0);
  const failures: string[] = [];
  for (const check of run) {
    try {
      await check.run();
    } catch (error) {
      failures.push(`${check.name}: ${String(error).slice(0, 300)}`);
    }
  }
  expect(failures).toEqual([]);
  expect(run.length).toBeGreaterThan(30);
});
