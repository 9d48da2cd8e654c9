// Two processes write everything into one folder, and are killed at any moment: every file is whole, of one of the versions.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { contentsOf, openWriters } from '../src/writers.js';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
/** A child takes seconds to start. */
const ROUNDS = Number(process.env.LOWBIT_KV_KILLS ?? 1);

const root = mkdtempSync(join(tmpdir(), 'lowbit-kv-killed-'));
const { writers: all, endpoint, close } = await openWriters();
const writers = all.filter(({ name }) => name !== 'exported graphs');
afterAll(async () => {
  await close();
  rmSync(root, { recursive: true, force: true });
});

async function writing(folder: string, first: number): Promise<ChildProcess> {
  const child = spawn(
    process.execPath,
    [
      '--import',
      tsx,
      '--conditions=@lowbit-kv/source',
      here('../src/write-for-ever.ts'),
      folder,
      `${first}`,
      endpoint,
    ],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, TSX_TSCONFIG_PATH: here('../../../tsconfig.base.json') },
    },
  );
  await Promise.race([
    once(child.stdout as NonNullable<ChildProcess['stdout']>, 'data'),
    once(child, 'exit').then(() => {
      throw new Error('it ends by itself');
    }),
  ]);
  return child;
}

it('leaves whole files', { timeout: 120_000 }, async () => {
  const expected = await Promise.all(
    writers.map(async ({ write }, i) => {
      const versions = [];
      for (const version of [0, 1] as const) {
        const folder = join(root, `expected-${i}-${version}`);
        await mkdir(folder);
        await write(folder, version);
        versions.push(await contentsOf(folder));
      }
      return versions;
    }),
  );
  for (let round = 0; round < ROUNDS; round++) {
    const folder = join(root, `round-${round}`);
    const children = await Promise.all([writing(folder, 0), writing(folder, 1)]);
    await new Promise((resolve) => setTimeout(resolve, 20 + 150 * Math.random()));
    for (const child of children) {
      expect([child.exitCode, child.signalCode]).toEqual([null, null]);
      child.kill('SIGKILL');
    }
    await Promise.all(children.map((child) => child.signalCode ?? once(child, 'exit')));
    for (const [i, { name }] of writers.entries()) {
      const found = await contentsOf(join(folder, `${i}`));
      expect(found.size, name).toBeGreaterThan(0);
      for (const [path, content] of found) {
        const versions = expected[i]?.map((files) => files.get(path));
        expect(versions, `${name}: ${path}`).toContain(content);
      }
    }
  }
});
