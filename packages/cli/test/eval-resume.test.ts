// `lowbit-kv eval` that is interrupted and goes on.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { evalReportSchema } from '@lowbit-kv/harness';
import { afterEach, expect, test } from 'vitest';
import { runCli } from './support/run-cli.js';
import type { HereOptions } from './support/run-here.js';
import { tinyWorkspace } from './support/tiny-workspace.js';

const { cache, directory, here } = tinyWorkspace();
const keptIn = (root: string) => join(root, 'lowbit-kv', 'eval');
const partsIn = (root: string) => (existsSync(keptIn(root)) ? readdirSync(keptIn(root)) : []);
const ARGUMENTS = [
  ...['--text', 'text.txt', '--scheme', 'kivi-2bit-g32', 'oaken-sm'],
  ...['--windows', '3', '--window', '200', '--calibration-tokens', '150', '--json'],
];

const evaluated = (options: HereOptions = {}, more: readonly string[] = []) =>
  here('eval', [...ARGUMENTS, ...more], { isTTY: true, ...options });
/** In the middle of the second window. */
const interrupted = () =>
  evaluated({ interruptAt: (text) => text.includes('window 2/3 kivi-2bit-g32') });
const parts = () => partsIn(cache);

/** Without what depends on time and on what was kept. */
function figures(stdout: string) {
  const {
    uncut: _uncut,
    resumed: _resumed,
    ...report
  } = evalReportSchema.parse(JSON.parse(stdout));
  return {
    ...report,
    schemes: report.schemes.map((row) => ('rate' in row ? { ...row, rate: null } : row)),
  };
}

/** Rows that were spared windows. */
const resumed = (stdout: string) =>
  Object.fromEntries(
    evalReportSchema.parse(JSON.parse(stdout)).resumed.rows.map(({ id, windows }) => [id, windows]),
  );

afterEach(() => expect(parts()).toEqual([]));

test('what was finished is not measured again, and the report is the same', async () => {
  const whole = await evaluated();
  expect(whole.code).toBe(0);
  expect(parts()).toEqual([]);

  const stopped = await interrupted();
  expect(stopped).toMatchObject({ code: 130, stdout: '' });
  const count = parts().length;
  expect(count).toBeGreaterThanOrEqual(4);
  expect(stopped.stderr).toContain(
    `${count} finished parts are kept in ${keptIn(cache)}: the same command goes on from there.`,
  );
  expect(stopped.stderr).toMatch(/\nInterrupted\.\n$/);

  const again = await evaluated();
  expect(again.code).toBe(0);
  expect(resumed(again.stdout)).toMatchObject({ f16: 1, 'kivi-2bit-g32': 1, 'oaken-sm': 1 });
  expect(figures(again.stdout)).toEqual(figures(whole.stdout));
});

test('where nothing was finished, nothing is said to be kept', async () => {
  const stopped = await evaluated({ interruptAt: (text) => text.includes('window 1/3 uncut') });
  expect(stopped.code).toBe(130);
  expect(stopped.stderr).toMatch(/Interrupted\.\n$/);
  expect(stopped.stderr).not.toContain('kept');
});

test('--fresh measures everything again', async () => {
  await interrupted();
  const fresh = await evaluated({}, ['--fresh']);
  expect(fresh.code).toBe(0);
  expect(resumed(fresh.stdout)).toEqual({});
});

test('another command does not take it, and does not remove it', async () => {
  await interrupted();
  const before = parts();
  const other = await evaluated({}, ['--stress', 'value-mean:10']);
  expect(resumed(other.stdout)).toEqual({});
  expect(parts()).toEqual(before);
  expect((await evaluated()).code).toBe(0);
});

test('Ctrl-C ends the process with 130, and it says what is kept', async () => {
  const ownCache = join(directory, 'cache-of-a-process');
  const work = ['--text', 'text.txt', '--scheme', 'kivi', 'innerq', '--windows', '20'];
  const command = ['eval', '--model', 'model', '--threads', '1', ...work, '--window', '200'];
  const { code, signal, stdout, stderr } = await runCli(command, {
    directory,
    environment: { XDG_CACHE_HOME: ownCache },
    interruptWhen: () => partsIn(ownCache).some((name) => name.endsWith('.part')),
  });
  expect({ code, signal, stdout }).toEqual({ code: 130, signal: null, stdout: '' });
  expect(stderr).toContain(`${partsIn(ownCache).length} finished parts are kept in ${ownCache}`);
  expect(partsIn(ownCache).length).toBeGreaterThan(0);
});
