// A clock that goes back an hour whenever it is asked: figures, waits and names of files do not depend on it.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest';
import { benchPath } from '../../../packages/cli/src/bench/bench-file.js';
import { runHere } from '../../../packages/cli/test/support/run-here.js';
import { writeTinyCapture } from '../../../packages/cli/test/support/tiny-capture.js';
import { openWriters } from '../src/writers.js';

const folder = mkdtempSync(join(tmpdir(), 'lowbit-kv-clock-'));
await writeTinyCapture(join(folder, 'tiny.safetensors'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const RealDate = Date;
beforeEach(() => {
  let now = RealDate.now();
  const back = () => (now -= 3_600_000);
  globalThis.Date = class extends RealDate {
    constructor(...values: []) {
      if (values.length === 0) super(back());
      else super(...values);
    }
    static override now = back;
  } as DateConstructor;
});
afterEach(() => {
  globalThis.Date = RealDate;
});

it('benchmarks that begin at one time, or at an earlier one, have files of their own', async () => {
  const frozen = new RealDate();
  const out = join(folder, 'speed');
  const paths = [await benchPath(out, frozen), await benchPath(out, frozen), await benchPath(out)];
  expect(new Set(paths).size).toBe(3);
});

it('a comparison says the same, and how far it is', async () => {
  const args = ['compare', '--capture', 'tiny.safetensors', '--scheme', 'kivi-2bit-g32'].concat(
    ...['--positions', '2', '--json'],
  );
  const jumping = await runHere([...args, '--fresh'], { directory: folder, isTTY: true });
  globalThis.Date = RealDate;
  const steady = await runHere([...args, '--fresh'], { directory: folder });
  expect(jumping.code, jumping.stderr).toBe(0);
  expect(JSON.parse(jumping.stdout)).toEqual(JSON.parse(steady.stdout));
  expect(jumping.stderr).not.toMatch(/NaN|Infinity|-\d+ (s|min|tokens)/);
});

it('a download comes to its end', async () => {
  const { writers, close } = await openWriters();
  const hub = writers.find(({ name }) => name === 'a model from the hub');
  await hub?.write(join(folder, 'hub'), 0);
  await close();
  expect(readdirSync(join(folder, 'hub')).length).toBe(1);
});
