// What every command owes: an example, data on stdout, and words for a wrong argument, a missing file, an output that cannot be
// written and a reader that is gone. A new command without a row fails.
import { spawnSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { COMMAND_ARGUMENTS, COMMAND_ENVIRONMENT } from './support/command.js';
import { CAPTURE, KIVI, MODEL, ROWS } from './support/command-rows.js';
import { quietProgram } from './support/quiet-program.js';
import { runCli } from './support/run-cli.js';
import { runHere } from './support/run-here.js';
import { writeTinyCapture } from './support/tiny-capture.js';
import { tinyWorkspace } from './support/tiny-workspace.js';

const { directory, cache } = tinyWorkspace();
const environment = { XDG_CACHE_HOME: cache };

beforeAll(async () => {
  await writeTinyCapture(join(directory, 'tiny.safetensors'));
  writeFileSync(join(directory, 'occupied'), '');
  const args = ['compare', ...CAPTURE, ...KIVI, '--positions', '2'];
  const { stdout } = await runHere([...args, '--json'], { directory });
  writeFileSync(join(directory, 'report.json'), stdout);
  const shard = await runHere([...args, '--shard', '1/1', '--out', 'shards'], {
    directory,
    environment,
  });
  expect(shard.code, shard.stderr).toBe(0);
});

test('every command has a row', () => {
  const names = quietProgram().commands.map((command) => command.name());
  expect(Object.keys(ROWS).sort()).toEqual(names.sort());
});

/** A stack, or what the system says. */
const LOUD = /^ +at |EPIPE/m;

/** The code of an error, or the words for an operating system's. */
const NOT_THERE = /gone/;

describe.each(Object.entries(ROWS))('%s', (name, { works, wrong, missing, unwritable }) => {
  const run = (args: readonly string[]) => runHere([name, ...args], { directory, environment });

  test('--help begins with an example', async () => {
    const { code, stdout, stderr } = await run(['--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^Examples:\n {2}\$ (source <\()?lowbit-kv /);
  });

  test('data goes to stdout, and only data', async () => {
    const [args, data] = works;
    const { code, stdout, stderr } = await run(args);
    // The machine may lack what the doctor wants.
    if (name !== 'doctor') expect(code, stderr).toBe(0);
    expect(stdout).toMatch(data);
    if (args.includes('--json')) expect(() => JSON.parse(stdout)).not.toThrow();
  }, 60_000);

  test('a wrong argument', async () => {
    const [args, message] = wrong;
    const { code, stdout, stderr } = await run(args);
    expect({ isFailure: code === 1 || code === 2, stdout }).toEqual({
      isFailure: true,
      stdout: '',
    });
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/^ +at /m);
  });

  test.skipIf(typeof missing === 'string')('a missing file', async () => {
    const { code, stdout, stderr } = await run(missing as readonly string[]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(NOT_THERE);
    expect(stderr).toMatch(/error [A-Z_]+: /);
    expect(stderr).not.toMatch(/^ +at /m);
  });

  test.skipIf(typeof unwritable === 'string')('an output that cannot be written', async () => {
    const { code, stdout, stderr } = await run(unwritable as readonly string[]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/error OPTION_INVALID: .*occupied/);
    expect(stderr).not.toMatch(/^ +at /m);
  });
});

describe('a reader that is gone', () => {
  test.concurrent.each(Object.entries(ROWS))(
    'ends %s quietly, its work done',
    { timeout: 90_000 },
    async (name, { works: [args], files = [] }) => {
      for (const file of files) rmSync(join(directory, file));
      const { code, signal, stderr } = await runCli([name, ...args], {
        directory,
        environment,
        closedStdout: true,
      });
      expect({ signal, stderr }).toEqual({ signal: null, stderr: expect.not.stringMatching(LOUD) });
      if (name !== 'doctor') expect(code, stderr).toBe(0);
      for (const file of files) expect(existsSync(join(directory, file)), file).toBe(true);
    },
  );

  test('does not pass a gate', async () => {
    const args = ['compare', ...CAPTURE, ...KIVI, '--positions', '2', '--fail-if', 'bits>0.1'];
    const { code, stderr } = await runCli(args, { directory, closedStdout: true });
    expect(code).toBe(3);
    expect(stderr).toMatch(/^gate failed: kivi-4bit-g32 /m);
  });

  test('ends a text that is generated', async () => {
    const prompt = ['--raw', '--prompt', 'a b', '--max-tokens', '1500'];
    const args = ['generate', ...MODEL, ...KIVI, ...prompt];
    const { code, stderr } = await runCli(args, { directory, closedStdout: true });
    expect(code, stderr).toBe(0);
    expect(stderr).toMatch(/^\d{1,3} tokens\b.*\(stdout closed\)/m);
  });
});

test('`| head -1` of much data', () => {
  const words = [process.execPath, ...COMMAND_ARGUMENTS, 'schemes', '--json'].map(
    (word) => `'${word}'`,
  );
  const script = `set -o pipefail; ${words.join(' ')} | head -1`;
  const { status, stdout, stderr } = spawnSync('bash', ['-c', script], {
    encoding: 'utf8',
    env: COMMAND_ENVIRONMENT,
  });
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '{\n', stderr: '' });
});
