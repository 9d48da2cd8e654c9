// The command lines of eval, generate, capture and calibrate: help, examples, wrong ones.
import { describe, expect, test } from 'vitest';
import { quietProgram } from './support/quiet-program.js';
import { runHere } from './support/run-here.js';

const MODEL = ['--model', '--model-file', '--revision', '--offline', '--threads'];
const SCHEME = ['--attention', '--backend', '--allow-emulation', '--calibration', '--scheme'];
const OPTIONS = {
  eval: [
    ...[...MODEL, ...SCHEME, '--text', '--all', '--windows', '--window', '--mode', '--stress'],
    ...['--prompt-tokens', '--retrieval', '--calibration-tokens', '--allow-calibrated-text'],
    ...['--fresh', '--shard', '--gate', '--fail-if', '--out', '--bench', '--json', '--markdown'],
  ],
  generate: [
    ...[...MODEL, ...SCHEME, '--prompt', '--system', '--raw', '--max-tokens', '--temperature'],
    ...['--top-p', '--top-k', '--seed', '--against-f16'],
  ],
  capture: [...MODEL, '--text', '--layers', '--tokens', '--queries', '--no-pre-rope', '--out'],
  calibrate: [
    ...[...MODEL, '--scheme', '--text', '--first-token', '--tokens', '--out'],
    ...['--evaluation-text', '--allow-evaluation-text'],
  ],
};

/** The words of a line as a shell gives them, without redirections and comments. */
function wordsOf(line: string): string[] {
  const command = line.replace(/\s+[>#].*$/, '');
  return [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(
    ([, quoted, plain]) => quoted ?? plain ?? '',
  );
}

/** The options that a command would run with. */
async function parsed(args: readonly string[]): Promise<Record<string, unknown>> {
  const program = quietProgram();
  let options: Record<string, unknown> | undefined;
  for (const command of program.commands)
    command.action((given: Record<string, unknown>) => {
      options = given;
    });
  await program.parseAsync(args, { from: 'user' });
  if (options === undefined) throw new Error('no command ran');
  return options;
}

describe.each(Object.entries(OPTIONS))('%s', (name, options) => {
  test('--help has every option, and examples that are right', async () => {
    const { code, stdout } = await runHere([name, '--help']);
    expect(code).toBe(0);
    const found = [...stdout.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm)].map(([, flag]) => flag);
    expect(found.sort()).toEqual([...options, '--help'].sort());
    const examples = [...stdout.matchAll(/^ {2}\$ (.*)$/gm)].map(([, line = '']) => wordsOf(line));
    expect(examples.length).toBeGreaterThan(1);
    expect(examples[0]?.slice(0, 2)).toEqual(['lowbit-kv', name]);
    for (const [program, ...args] of examples) {
      expect(program).toBe('lowbit-kv');
      expect(await parsed(args)).not.toEqual({});
    }
  });

  test('without a model it is a usage error', async () => {
    const { code, stdout, stderr } = await runHere([name]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/required option '--model <model>' not specified/);
    expect(stderr).toContain(`lowbit-kv ${name} --help`);
  });
});

test.each<[string, RegExp]>([
  ['eval --model m --text t --windows 0', /positive integer/],
  ['eval --model m --text t --window 1.5', /positive integer/],
  ['eval --model m --text t --mode fast', /Allowed choices are replay, decode/],
  ['eval --model m --text t --attention none', /Allowed choices are cut, past-injection/],
  ['eval --model m --text t --json --markdown', /cannot be used with option '--markdown'/],
  ['eval --model m', /required option '--text <file>'/],
  ['generate --model m --scheme f16', /required option '--prompt <text>'/],
  ['generate --model m --prompt p', /required option '--scheme <scheme>'/],
  ['generate --model m --scheme f16 --prompt p --seed -1', /integer of at least 0/],
  ['capture --model m --text t --out o --layers 0 x', /integer of at least 0/],
  ['capture --model m --text t', /required option '-o, --out <file>'/],
  ['calibrate --model m --text t --scheme oaken', /required option '-o, --out <file>'/],
])('%s', async (line, message) => {
  const { code, stdout, stderr } = await runHere(line.split(' '));
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(message);
});

test('defaults, and options that are given several times', async () => {
  const evaluated = ['eval', '--model', 'm', '--text', 't', '--retrieval', '256', '512'];
  expect(await parsed([...evaluated, '--scheme', 'kivi', 'oaken', '--scheme', 'innerq'])).toEqual({
    ...{ model: 'm', text: 't', scheme: ['kivi', 'oaken', 'innerq'], retrieval: [256, 512] },
    ...{ windows: 8, window: 1024, mode: 'replay', attention: 'cut', backend: 'reference' },
    calibrationTokens: 4096,
  });
  const captured = ['capture', '--model', 'm', '--text', 't', '-o', 'f', '--layers', '0', '10'];
  expect(await parsed([...captured, '--no-pre-rope'])).toEqual({
    ...{ model: 'm', text: 't', out: 'f', layers: [0, 10], tokens: 1024 },
    preRope: false,
  });
});

test.each(['warm', '', ' '])('a temperature of %j is a usage error', async (text) => {
  const args = ['generate', '--model', 'm', '--scheme', 's', '--prompt', 'p'];
  const { code, stderr } = await runHere([...args, '--temperature', text]);
  expect(code).toBe(2);
  expect(stderr).toMatch(/--temperature <t>' argument.*must be a number/);
});
