// What every command owes: an example, data on stdout, and words for a wrong argument, a missing file, an output that cannot be
// written and a reader that is gone. A new command without a row fails.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { Terminal } from '../src/index.js';
import { createProgram } from '../src/program.js';
import { runCli, SOURCE_ARGUMENTS, SOURCE_ENVIRONMENT } from './support/run-cli.js';
import { runHere } from './support/run-here.js';
import { writeTinyCapture } from './support/tiny-capture.js';
import { tinyWorkspace } from './support/tiny-workspace.js';

const { directory, cache } = tinyWorkspace();
const environment = { XDG_CACHE_HOME: cache };

const CAPTURE = ['--capture', 'tiny.safetensors'];
const MODEL = ['--model', 'model', '--threads', '1'];
const TEXT = ['--text', 'text.txt'];
const KIVI = ['--scheme', 'kivi-4bit-g32'];
const WINDOW = ['--windows', '1', '--window', '64'];
const SMALL_BENCH = [
  ...[...KIVI, '--tokens', '96', '--heads', '2/1', '--head-dim', '32'],
  ...['--samples', '2', '--warm-up', '0'],
];
/** A file where a folder would have to be. */
const NOWHERE = 'occupied/below';

interface Row {
  /** Runs; stdout is data of this form. */
  readonly works: readonly [args: readonly string[], stdout: RegExp];
  readonly wrong: readonly [args: readonly string[], message: RegExp];
  /** A file that is not there, or why the command reads none. */
  readonly missing: readonly string[] | string;
  /** An output that cannot be written, or why the command writes none. */
  readonly unwritable: readonly string[] | string;
}

const ROWS: Readonly<Record<string, Row>> = {
  compare: {
    works: [[...CAPTURE, ...KIVI, '--positions', '2', '--json'], /^\{[\s\S]*"kivi-4bit-g32"/],
    wrong: [['--positions', '0'], /positive integer/],
    missing: ['--capture', 'gone.safetensors'],
    unwritable: [...CAPTURE, ...KIVI, '--out', NOWHERE],
  },
  bench: {
    works: [[...SMALL_BENCH, '--json'], /^\{[\s\S]*"kivi-4bit-g32"/],
    wrong: [['--heads', '3/2'], /query heads and kv heads, a multiple/],
    missing: [...SMALL_BENCH, '--compare', 'gone.json'],
    unwritable: [...SMALL_BENCH, '--out', `${NOWHERE}.json`],
  },
  tune: {
    works: [
      [...CAPTURE, '--budget-bits', '5', ...KIVI, '--sinks', '4', '--recent', '16', '--json'],
      /^\{[\s\S]*"tuned-5"/,
    ],
    wrong: [['--budget-bits', '-1'], /above 0/],
    missing: ['--budget-bits', '5', '--capture', 'gone.safetensors'],
    unwritable: [...CAPTURE, '--budget-bits', '5', '--out', `${NOWHERE}.json`],
  },
  eval: {
    works: [[...MODEL, ...TEXT, ...KIVI, ...WINDOW, '--json'], /^\{[\s\S]*"kivi-4bit-g32"/],
    wrong: [[...MODEL, ...TEXT, '--mode', 'slow'], /choices are replay, decode/],
    missing: [...MODEL, '--text', 'gone.txt'],
    unwritable: [...MODEL, ...TEXT, '--out', NOWHERE],
  },
  generate: {
    works: [[...MODEL, ...KIVI, '--raw', '--prompt', 'a b', '--max-tokens', '3'], /\S/],
    wrong: [[...MODEL, ...KIVI, '--prompt', 'a', '--top-k', '-1'], /at least 0/],
    missing: ['--model', './gone', ...KIVI, '--prompt', 'a'],
    unwritable: 'it writes to stdout alone',
  },
  capture: {
    works: [[...MODEL, ...TEXT, '--tokens', '32', '-o', 'made.safetensors'], /^$/],
    wrong: [[...MODEL, ...TEXT, '--layers', 'x', '-o', 'a.safetensors'], /at least 0/],
    missing: [...MODEL, '--text', 'gone.txt', '-o', 'a.safetensors'],
    unwritable: [...MODEL, ...TEXT, '--tokens', '32', '-o', `${NOWHERE}.safetensors`],
  },
  calibrate: {
    works: [[...MODEL, ...TEXT, '--scheme', 'oaken-sm', '--tokens', '64', '-o', 'made.json'], /^$/],
    wrong: [[...MODEL, ...TEXT, '--scheme', 'oaken', '--tokens', '0', '-o', 'a.json'], /positive/],
    missing: [...MODEL, '--text', 'gone.txt', '--scheme', 'oaken', '-o', 'a.json'],
    unwritable: [...MODEL, ...TEXT, '--scheme', 'oaken', '--tokens', '64', '-o', `${NOWHERE}.json`],
  },
  estimate: {
    works: [[...KIVI, '--json'], /^\{[\s\S]*"kivi-4bit-g32"/],
    wrong: [['--memory', 'much'], /much/],
    missing: ['--config', 'gone.json'],
    unwritable: 'it writes to stdout alone',
  },
  inspect: {
    works: [['tiny.safetensors', '--json'], /^\{[\s\S]*"layers.0.key"/],
    wrong: [['tiny.safetensors', '--tensor', 'query'], /choices are key, value/],
    missing: ['gone.safetensors'],
    unwritable: 'it writes to stdout alone',
  },
  diff: {
    works: [['report.json', 'report.json', '--json'], /^\{/],
    wrong: [['report.json', 'report.json', '--fail-if', 'bits'], /bits/],
    missing: ['report.json', 'gone.json'],
    unwritable: 'it writes to stdout alone',
  },
  merge: {
    works: [['shards', '--json'], /^\{[\s\S]*"kivi-4bit-g32"/],
    wrong: [['shards', '--fail-if', 'bits'], /bits/],
    missing: ['gone.jsonl'],
    unwritable: ['shards', '--out', NOWHERE],
  },
  schemes: {
    works: [['--json'], /^\{[\s\S]*"kivi-4bit-g32"/],
    wrong: [['--markdown'], /unknown option '--markdown'/],
    missing: 'it reads no file',
    unwritable: 'it writes to stdout alone',
  },
  backends: {
    works: [['--json'], /^\{[\s\S]*"reference"/],
    wrong: [['extra'], /too many arguments/],
    missing: 'it reads no file',
    unwritable: 'it writes to stdout alone',
  },
  completion: {
    works: [['bash'], /^# lowbit-kv completion for bash/],
    wrong: [['tcsh'], /choices are bash, zsh, fish/],
    missing: 'it reads no file',
    unwritable: 'it writes to stdout alone',
  },
  doctor: {
    works: [['--json'], /^\{[\s\S]*"packages"/],
    wrong: [['--jsn'], /unknown option '--jsn'\n\(Did you mean --json\?\)/],
    missing: 'it reads no file',
    unwritable: 'it writes to stdout alone',
  },
  'export-onnx': {
    works: [[...CAPTURE, ...KIVI, '--out', 'graphs'], /^\/.*\.onnx$/m],
    wrong: [[...KIVI], /required option '--out <directory>'/],
    missing: [...KIVI, '--out', 'graphs', '--capture', 'gone.safetensors'],
    unwritable: [...CAPTURE, ...KIVI, '--out', NOWHERE],
  },
};

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
  const stream = { write: () => true };
  const terminal = new Terminal({
    stdout: stream,
    stderr: stream,
    environment: {},
    directory: '.',
  });
  const names = createProgram(terminal, () => undefined).commands.map((command) => command.name());
  expect(Object.keys(ROWS).sort()).toEqual(names.sort());
});

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

  test('a reader that is gone ends it quietly', async () => {
    const { code, signal, stderr } = await runCli([name, '--help'], {
      directory,
      closedStdout: true,
    });
    expect({ code, signal, stderr }).toEqual({ code: 0, signal: null, stderr: '' });
  });
});

test('`| head -1` of much data', () => {
  const words = [process.execPath, ...SOURCE_ARGUMENTS, 'schemes', '--json'].map(
    (word) => `'${word}'`,
  );
  const script = `set -o pipefail; ${words.join(' ')} | head -1`;
  const { status, stdout, stderr } = spawnSync('bash', ['-c', script], {
    encoding: 'utf8',
    env: SOURCE_ENVIRONMENT,
  });
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '{\n', stderr: '' });
});
