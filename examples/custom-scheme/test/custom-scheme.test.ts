// The example works as its README says: by path through the command line, and in code.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { lcgNormal } from '@lowbit-kv/core/testing';
import { writeSafetensors } from '@lowbit-kv/harness';
import { afterAll, expect, test } from 'vitest';
import {
  COMMAND_ARGUMENTS,
  COMMAND_ENVIRONMENT,
  NODE_FLAGS,
} from '../../../packages/cli/test/support/command.js';

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));

const folder = mkdtempSync(join(tmpdir(), 'lowbit-kv-example-'));
afterAll(() => rmSync(folder, { recursive: true }));

function run(...args: string[]) {
  return spawnSync(process.execPath, args, {
    cwd: path('..'),
    encoding: 'utf8',
    env: COMMAND_ENVIRONMENT,
  });
}

test('the scheme is one file of under 60 lines', () => {
  expect(readFileSync(path('../my-scheme.js'), 'utf8').split('\n').length).toBeLessThan(60);
});

test('in code: registered, appended, attended, snapshotted and restored', () => {
  const { status, stdout, stderr } = run(...NODE_FLAGS, 'use-in-code.mjs');
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toMatch(/^layer 1: attention output \[1,4,64\] starts -?0\.\d*[1-9]/m);
  expect(stdout).toContain('keys: 4 sinks and 37 newest tokens in f16, 160 packed');
  expect(stdout).toMatch(/restored exactly$/m);
});

test('on the command line: compared by its path', async () => {
  const capture = join(folder, 'capture.safetensors');
  await writeSafetensors(
    capture,
    ['key', 'value', 'query'].map((part, seed) => {
      const shape = [1, 2, part === 'query' ? 4 : 160, 64];
      const data = lcgNormal({ seed, shape, dtype: 'f16' });
      return { name: `layers.0.${part}`, dtype: 'F16' as const, shape, data };
    }),
    { format: 'lowbit-kv-capture', version: '1', scale: '0.125' },
  );
  const { status, stdout, stderr } = run(
    ...COMMAND_ARGUMENTS,
    ...['compare', '--scheme', './my-scheme.js', '--capture', capture, '--json'],
  );
  expect(stderr).toBe(
    `--scheme ./my-scheme.js: my-3bit-keys-4bit-values (${path('../my-scheme.js')})\n`,
  );
  expect(status).toBe(0);
  const [f16, mine] = JSON.parse(stdout).schemes;
  expect(f16.id).toBe('f16');
  expect(mine).toMatchObject({ id: 'my-3bit-keys-4bit-values', status: 'measured' });
  expect(mine.bits.packed.total).toBeCloseTo((3 + 16 / 32 + 4 + 32 / 32) / 2, 6);
  // Three-bit keys and four-bit values: some error, and far from none of the output left.
  expect(mine.key.nmse).toBeGreaterThan(mine.value.nmse);
  expect(mine.output.nmse).toBeGreaterThan(1e-5);
  expect(mine.output.nmse).toBeLessThan(0.3);
});
