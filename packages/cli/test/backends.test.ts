// `lowbit-kv backends`: what can run here, and why others cannot.
import { expect, test } from 'vitest';
import { BACKENDS } from '../src/backends.js';
import { runCli } from './support/run-cli.js';

test('every backend, with its device or the reason and what to do', async () => {
  const { code, stdout } = await runCli(['backends', '--json']);
  expect(code).toBe(0);
  const { reportVersion, backends } = JSON.parse(stdout);
  expect(reportVersion).toBe(1);
  expect(backends.map(({ id }: { id: string }) => id)).toEqual(BACKENDS);
  for (const { device, reason, next } of backends) {
    if (reason === null) expect(device).toMatch(/\w/);
    else expect({ device, next }).toEqual({ device: null, next: expect.stringMatching(/\w/) });
  }
  expect(backends[0]).toMatchObject({ id: 'reference', reason: null });
});
