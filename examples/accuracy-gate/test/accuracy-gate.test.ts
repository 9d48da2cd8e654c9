// The commands of the workflow, as they stand in it: what they let through and what they stop.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { lcgNormal } from '@lowbit-kv/core/testing';
import { writeSafetensors } from '@lowbit-kv/harness';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { COMMAND_ENVIRONMENT } from '../../../packages/cli/test/support/command.js';
import { installCommand } from '../../../packages/cli/test/support/installed-command.js';

interface Step {
  readonly uses?: string;
  readonly run?: string;
}

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
const workflow = parse(readFileSync(path('../accuracy-gate.yml'), 'utf8'));
const steps: readonly Step[] = workflow.jobs.gate.steps;
const [install, before, after, diff] = steps.flatMap(({ run }) => run ?? []);

const scheme = readFileSync(path('../../custom-scheme/my-scheme.js'), 'utf8');
const folder = mkdtempSync(join(tmpdir(), 'lowbit-kv-gate-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** What a runner does with a `run:` step, in the folder of the repository. */
function run(command: string | undefined) {
  if (command === undefined) throw new Error('the workflow has fewer run: steps than the test');
  const { status, stderr, stdout } = spawnSync('bash', ['-e', '-c', command], {
    cwd: folder,
    encoding: 'utf8',
    env: COMMAND_ENVIRONMENT,
  });
  return { status, stdout, stderr };
}

const propose = (text: string) => writeFileSync(join(folder, 'my-scheme.js'), text);

/** A scheme with one number changed, which must be there. */
function changed(text: string, from: string, to: string): string {
  expect(text).toContain(from);
  return text.replace(from, to);
}

beforeAll(async () => {
  mkdirSync(join(folder, 'base'));
  installCommand(folder);
  writeFileSync(join(folder, 'package.json'), '{ "name": "repository", "type": "module" }');
  cpSync(path('../../custom-scheme/my-scheme.js'), join(folder, 'base/my-scheme.js'));
  await writeSafetensors(
    join(folder, 'capture.safetensors'),
    ['key', 'value', 'query'].map((part, seed) => {
      const shape = [1, 2, part === 'query' ? 4 : 160, 64];
      const data = lcgNormal({ seed, shape, dtype: 'f16' });
      return { name: `layers.0.${part}`, dtype: 'F16' as const, shape, data };
    }),
    { format: 'lowbit-kv-capture', version: '1', scale: '0.125' },
  );
  const { status, stderr } = run(before);
  expect(status, stderr).toBe(0);
}, 90_000);

test('the workflow installs, measures twice and compares, and may only read', () => {
  expect(install).toBe('npm ci --ignore-scripts');
  expect(steps.filter(({ run: command }) => command !== undefined)).toHaveLength(4);
  expect(workflow.permissions).toEqual({ contents: 'read' });
});

test('a scheme that is as it was passes', { timeout: 90_000 }, () => {
  propose(scheme);
  expect(run(after)).toMatchObject({ status: 0 });
  expect(run(diff)).toMatchObject({ status: 0 });
});

test('a scheme with coarser keys and larger values is stopped by its size and by its error', {
  timeout: 90_000,
}, () => {
  propose(changed(changed(scheme, 'bits: 3,', 'bits: 2,'), 'bits: 4,', 'bits: 8,'));
  const limit = run(after);
  expect(limit.status, limit.stderr).toBe(3);
  expect(limit.stderr).toContain('bits.packed');
  // A runner ends there; the comparison stops it by itself too.
  const worse = run(diff);
  expect(worse.status, worse.stderr).toBe(3);
  expect(worse.stderr).toContain('output.worstHead');
  expect(worse.stderr).toContain('bits.packed');
});
