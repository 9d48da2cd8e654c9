// Ctrl-C in every command that takes long: exit code 130, nothing on stdout, nothing half-written.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { runCli } from './support/run-cli.js';
import { runHere } from './support/run-here.js';
import { writeTinyCapture } from './support/tiny-capture.js';
import { tinyWorkspace } from './support/tiny-workspace.js';

const { cache, directory } = tinyWorkspace();
const environment = { XDG_CACHE_HOME: cache };
beforeAll(() => writeTinyCapture(join(directory, 'tiny.safetensors')));

const MODEL = ['--model', 'model', '--threads', '1', '--text', 'text.txt'];
const CAPTURE = ['--capture', 'tiny.safetensors'];
const KIVI = ['--scheme', 'kivi-2bit-g32', 'kivi-4bit-g32'];

const commands: [name: string, args: readonly string[], shown: string][] = [
  ['compare', [...CAPTURE, ...KIVI], '2/3 kivi-2bit-g32: step 3/'],
  ['tune', [...CAPTURE, ...KIVI, '--budget-bits', '6', '--out', 'tuned.json'], 'errors of pairs'],
  ['tune', [...CAPTURE, ...KIVI, '--budget-bits', '6', '--sinks', '4', '--recent', '16'], 'replay'],
  ['eval', [...MODEL, ...KIVI, '--windows', '2', '--window', '200'], 'window 1/2 f16'],
  ['capture', [...MODEL, '--tokens', '100', '--out', 'made.safetensors'], 'layer 1/2'],
  [
    'calibrate',
    [...MODEL, '--scheme', 'oaken-sm', '--tokens', '4000', '--out', 'made.json'],
    'run 1/4',
  ],
];

describe.each(commands)('%s %j', (name, args, shown) => {
  test(`at "${shown}"`, async () => {
    const before = readdirSync(directory);
    const { code, stdout, stderr } = await runHere([name, ...args], {
      ...{ directory, environment, isTTY: true },
      interruptAt: (text) => text.includes(shown),
    });
    expect({ code, stdout }).toEqual({ code: 130, stdout: '' });
    expect(stderr).toContain(shown);
    expect(stderr).toMatch(/Interrupted\.\n$/);
    expect(
      readdirSync(directory).filter((file) => !before.includes(file) && file !== 'cache'),
    ).toEqual([]);
  });
});

test('a process that computes all the time still hears the signal', async () => {
  const rows = () => {
    const folder = join(cache, 'lowbit-kv', 'compare');
    try {
      return readdirSync(folder).length;
    } catch {
      return 0;
    }
  };
  const before = rows();
  const args = ['compare', ...CAPTURE, '--scheme', 'kivi', 'innerq', 'oaken', '--fresh'];
  const { code, signal, stdout, stderr } = await runCli(args, {
    ...{ directory, environment },
    interruptWhen: () => rows() > before,
  });
  expect({ code, signal, stdout }, stderr).toEqual({ code: 130, signal: null, stdout: '' });
  expect(stderr).toContain('finished parts are kept in');
}, 30_000);
