// LOWBIT_KV_LOG: what backends are given, on stderr and nowhere else; and variables that nothing has.
import { execFileSync } from 'node:child_process';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { unknownVariables } from '../src/config/variables.js';
import { openLog } from '../src/log.js';
import { Terminal } from '../src/terminal.js';
import { CAPTURE, KIVI, MODEL } from './support/command-rows.js';
import { quietProgram } from './support/quiet-program.js';
import { runCli } from './support/run-cli.js';
import { runHere } from './support/run-here.js';
import { writeTinyCapture } from './support/tiny-capture.js';
import { tinyWorkspace } from './support/tiny-workspace.js';

const workspace = tinyWorkspace();
const { directory } = workspace;
beforeAll(() => writeTinyCapture(workspace.path('tiny.safetensors')));

const COMPARE = ['compare', ...CAPTURE, ...KIVI, '--positions', '2', '--json'];
const run = (args: readonly string[], environment: Record<string, string> = {}) =>
  runHere(args, { directory, environment: { XDG_CACHE_HOME: workspace.cache, ...environment } });
const logged = (args: readonly string[], level: string) => run(args, { LOWBIT_KV_LOG: level });

describe('the log', () => {
  test('debug tells plans and inputs before the work; stdout stays what it is', async () => {
    const quiet = await run(COMPARE);
    const { code, stdout, stderr } = await logged(COMPARE, 'debug');
    expect(code).toBe(0);
    expect(withoutTimes(stdout)).toEqual(withoutTimes(quiet.stdout));
    expect(quiet.stderr).not.toMatch(/reference/);
    const all = stderr.split('\n').filter((line) => /^(debug|info): /.test(line));
    const plan = all.findIndex((line) => / create-store start: scheme kivi-4bit-g32, /.test(line));
    expect(all[plan]).toMatch(
      /^info: reference store 2 call \d+ .*, plan \w+, \d+ layers?; layers 0/,
    );
    const lines = all.slice(plan);
    const order = [
      /^debug: .* append start: step 0, layer 0, .*key f16 \[\d+, \d+, \d+\], \d+ bytes, -?[\d.]+ to [\d.]+, rms /,
      /^debug: .* append end: [\d.]+ ms$/,
      /^debug: .* attend start: .*query f32 .*; keys \d+ packed, \d+ in windows, /,
      /^debug: .* read end: [\d.]+ ms; \d+ bytes$/,
    ].map((pattern) => lines.findIndex((line) => pattern.test(line)));
    expect(order.every((line) => line >= 0)).toBe(true);
    expect(order).toEqual([...order].sort((a, b) => a - b));
  });

  test('info tells plans, sizes and ends alone; off and nothing tell nothing', async () => {
    const { stderr } = await logged(COMPARE, 'INFO');
    expect(stderr).toMatch(/^info: reference store 1 .*create-store end: .* bytes allocated$/m);
    expect(stderr).toMatch(/^info: reference store 1 .*dispose end/m);
    expect(stderr).not.toMatch(/debug|append/);
    for (const level of ['off', ''])
      expect((await logged(COMPARE, level)).stderr).not.toMatch(/^(info|debug): /m);
  });

  test.each([
    [
      'generate',
      [...MODEL, ...KIVI, '--raw', '--prompt', 'a b', '--max-tokens', '2', '--against-f16'],
      2,
    ],
    ['tune', [...CAPTURE, '--budget-bits', '5', ...KIVI, '--sinks', '4', '--recent', '16'], 1],
    ['eval', [...MODEL, '--text', 'text.txt', ...KIVI, '--windows', '1', '--window', '64'], 1],
  ])('%s is logged too', async (command, args, stores) => {
    const { code, stderr } = await logged([command, ...args], 'info');
    expect(code, stderr).toBe(0);
    const made = stderr.match(/^info: reference store \d+ .*create-store end/gm) ?? [];
    expect(made.length).toBeGreaterThanOrEqual(stores);
  });

  test('bench says that its times are those of a logged run', async () => {
    const small = ['--tokens', '64', '--heads', '2/1', '--head-dim', '32', '--samples', '2'];
    const args = ['bench', ...KIVI, ...small, '--warm-up', '0', '--operation', 'append'];
    const { code, stderr } = await logged(args, 'info');
    expect(code, stderr).toBe(0);
    expect(stderr).toMatch(/^warning: times include the writing of the log/m);
    expect(stderr).toMatch(/^info: reference store 1 .*create-store end/m);
    expect((await run(args)).stderr).not.toMatch(/warning|store/);
  });

  test('a comparison of many presets is one process, whose log is whole', async () => {
    const all = ['compare', ...CAPTURE, '--positions', '2', '--json', '--fresh'];
    const environment = { XDG_CACHE_HOME: workspace.cache, LOWBIT_KV_LOG: 'info' };
    const { code, stdout, stderr } = await runCli(all, { directory, environment });
    expect(code, stderr).toBe(0);
    const { schemes } = JSON.parse(stdout) as { schemes: { id: string; status: string }[] };
    const measured = schemes.filter(({ status }) => status === 'measured').map(({ id }) => id);
    for (const id of measured)
      expect(stderr).toMatch(new RegExp(`^info: .*scheme ${id}, plan `, 'm'));
    expect(measured.length).toBeGreaterThan(3);
  });

  test('a home folder is written as ~, on one line', async () => {
    const lines: string[] = [];
    const stderr = { write: (text: string) => lines.push(text) };
    const environment = { LOWBIT_KV_LOG: 'info' };
    const terminal = new Terminal({ stdout: stderr, stderr, environment, directory: '.' });
    const observer = await openLog(terminal);
    const error = { code: null, message: `cannot open\n${join(homedir(), 'secret', 'model')}` };
    const call = { type: 'settle', backend: 'x', store: 1, call: 2, step: 3 } as const;
    observer?.onEvent({ ...call, phase: 'fault', milliseconds: 1, error });
    const place = homedir().length < 2 ? homedir() : '~';
    expect(lines).toEqual([
      `info: x store 1 call 2 settle fault: 1.000 ms; cannot open ${place}/secret/model\n`,
    ]);
  });

  test('another level is refused with those that there are', async () => {
    const { code, stdout, stderr } = await logged(['schemes'], 'verbose');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      /OPTION_INVALID: the environment variable LOWBIT_KV_LOG is not valid; got "verbose"; valid: "off", "info", "debug"/,
    );
    // Help and what shells run at their start are there all the same.
    for (const args of [['--help'], ['compare', '--help'], ['completion', 'bash']])
      expect(await logged(args, 'verbose')).toMatchObject({ code: 0, stderr: '' });
  });
});

describe('variables', () => {
  const typo = { LOWBIT_KV_POSITONS: '3' };

  test('one that no option has is told, with the one that is meant, and changes nothing', async () => {
    const { code, stdout, stderr } = await run(['schemes', '--json'], typo);
    expect(code).toBe(0);
    expect(stdout).toBe((await run(['schemes', '--json'])).stdout);
    expect(stderr).toBe(
      'warning: the environment variable LOWBIT_KV_POSITONS is that of no option and changes nothing. Did you mean LOWBIT_KV_POSITIONS?\n',
    );
  });

  test.each<[Record<string, string>, string | null]>([
    [{ LOWBIT_KV_LOGS: 'debug' }, 'LOWBIT_KV_LOG'],
    [{ lowbit_kv_scheme: 'kivi' }, 'LOWBIT_KV_SCHEME'],
    [{ LOWBIT_KV_CONFIGFILE: 'x' }, 'LOWBIT_KV_CONFIG_FILE'],
    [{ LOWBIT_KV_SOMETHING_NEWER: '1' }, null],
  ])('%j', async (environment, near) => {
    const { stdout, stderr } = await run(['compare', '--json', '--print-config'], environment);
    const [name] = Object.keys(environment);
    expect(JSON.parse(stdout).unknownVariables).toEqual([{ name, near }]);
    expect(stderr).toContain(name);
    const text = (await run(['compare', '--print-config'], environment)).stdout;
    expect(text).toMatch(new RegExp(`^the environment variable ${name} is that of no option`, 'm'));
    // It may be a secret of something else.
    expect(text).not.toContain('"debug"');
  });

  test('an empty one, one of another command, and those of tests are no fault', async () => {
    const environment = {
      ...{ LOWBIT_KV_NOTHING: '', LOWBIT_KV_WINDOWS: '3', LOWBIT_KV_TEST_REPORT: 'x' },
      ...{ LOWBIT_KV_GPU: '0', LOWBIT_KV_CONFIG_FILE: '', LOWBIT_KV_LOG: 'off', LOWBITS: '1' },
    };
    const { code, stderr } = await run(['schemes', '--json'], environment);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  test('where names have no case, any case is right', async () => {
    const { commands } = quietProgram();
    const environment = { lowbit_kv_scheme: 'kivi', LOWBIT_KV_SCHEME: 'kivi' };
    expect(await unknownVariables(commands, { environment })).toEqual([]);
  });

  test('every variable that the repository names is known', async () => {
    const names = new Set(
      execFileSync('git', ['grep', '-ohE', 'LOWBIT_KV_[A-Z][A-Z_]*', '--', ':!packages/cli/test'], {
        cwd: join(import.meta.dirname, '../../..'),
        encoding: 'utf8',
      })
        .trim()
        .split('\n'),
    );
    expect(names.size).toBeGreaterThan(15);
    const environment = Object.fromEntries([...names].map((name) => [name, '0']));
    const { stdout } = await run(['schemes', '--json', '--print-config'], {
      ...environment,
      ...{ LOWBIT_KV_JSON: '1', LOWBIT_KV_LOG: 'off', LOWBIT_KV_CONFIG_FILE: '' },
    });
    expect(JSON.parse(stdout).unknownVariables).toEqual([]);
  });
});

/** Reports of two runs are equal but for times. */
function withoutTimes(text: string): unknown {
  return JSON.parse(text, (key, value) =>
    /seconds|milliseconds|date|time|startedAt/i.test(key) ? undefined : value,
  );
}
