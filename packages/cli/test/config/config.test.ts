// Configuration files and variables: what wins, where values come from, what is refused.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { settings } from '../../src/config/settings.js';
import { Terminal } from '../../src/index.js';
import { createProgram } from '../../src/program.js';
import { runHere } from '../support/run-here.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const outside = temporaryDirectory();
const root = join(outside, 'repository');
mkdirSync(join(root, '.git'), { recursive: true });
let folders = 0;

/** A directory below the root of a repository, with these files beside it. */
function directoryWith(files: Readonly<Record<string, string>>): string {
  const folder = join(root, `case-${folders++}`);
  mkdirSync(join(folder, 'below'), { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return join(folder, 'below');
}

interface Printed {
  readonly [option: string]: { readonly value: unknown; readonly source: string };
}

async function effective(
  args: readonly string[],
  directory: string,
  environment: Record<string, string> = {},
): Promise<Printed> {
  const result = await runHere([...args, '--json', '--print-config'], { directory, environment });
  expect(result.code, result.stderr).toBe(0);
  return JSON.parse(result.stdout).options;
}

const program = () => {
  const stream = { write: () => true };
  const options = { stdout: stream, stderr: stream, environment: {}, directory: '.' };
  return createProgram(new Terminal(options), () => undefined);
};

test('there is a setting for every option, and no other', () => {
  const options = program().commands.flatMap((command) =>
    command.options.map((option) => option.attributeName()),
  );
  expect(Object.keys(settings.shape).sort()).toEqual([...new Set(options)].sort());
});

test('a flag wins over a variable, that over a block, that over the rest of the file, that over a default', async () => {
  const content = { positions: 1, scheme: 'oaken', compare: { positions: 2, modelLayers: 9 } };
  const directory = directoryWith({ 'lowbit-kv.config.json': JSON.stringify(content) });
  const path = join(directory, '..', 'lowbit-kv.config.json');
  const variable = { LOWBIT_KV_POSITIONS: '3' };
  const compare = await effective(['compare'], directory);
  expect(compare.positions).toEqual({ value: 2, source: `compare.positions of ${path}` });
  expect(compare.scheme).toEqual({ value: ['oaken'], source: `scheme of ${path}` });
  expect(compare.backend).toEqual({ value: 'reference', source: 'default' });
  expect(compare.out).toEqual({ value: null, source: 'not set' });
  const tune = await effective(['tune', '--budget-bits', '4'], directory);
  expect(tune.positions).toEqual({ value: 1, source: `positions of ${path}` });
  expect(tune).not.toHaveProperty('modelLayers.value', 9);
  const byVariable = await effective(['compare'], directory, variable);
  expect(byVariable.positions).toEqual({ value: 3, source: 'LOWBIT_KV_POSITIONS' });
  const byFlag = await effective(['compare', '--positions', '4'], directory, variable);
  expect(byFlag.positions).toEqual({ value: 4, source: 'flag' });
});

test('lists of flags take the place of those of the file', async () => {
  const content = { scheme: ['kivi', 'oaken'], failIf: ['bits>1'], estimate: { tokens: [1, 2] } };
  const directory = directoryWith({ 'lowbit-kv.config.json': JSON.stringify(content) });
  const flags = [
    '--scheme',
    'innerq',
    '--scheme',
    'f16',
    '--fail-if',
    'bits>2',
    '--fail-if',
    'bits>3',
  ];
  const found = await effective(['compare', ...flags], directory);
  expect(found.scheme?.value).toEqual(['innerq', 'f16']);
  expect(found.failIf?.value).toEqual(['bits>2', 'bits>3']);
  expect((await effective(['estimate'], directory)).tokens?.value).toEqual([1, 2]);
  expect((await effective(['estimate', '--tokens', '7'], directory)).tokens?.value).toEqual([7]);
});

test('a flag drops what it cannot be used with', async () => {
  const directory = directoryWith({ 'lowbit-kv.config.json': '{"json": true}' });
  const { code, stdout, stderr } = await runHere(['compare', '--markdown', '--print-config'], {
    directory,
  });
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(stdout).toMatch(/^markdown +true +flag$/m);
  expect(stdout).toMatch(/^json +- +not set$/m);
});

test('paths of a file are relative to it, names stay', async () => {
  const content = {
    capture: 'keys.safetensors',
    scheme: ['./mine.js', 'kivi'],
    exportOnnx: { out: 'graphs', geometry: { layers: 1 } },
  };
  const directory = directoryWith({ 'lowbit-kv.config.json': JSON.stringify(content) });
  const folder = join(directory, '..');
  const found = await effective(['compare'], directory);
  expect(found.capture?.value).toBe(join(folder, 'keys.safetensors'));
  expect(found.scheme?.value).toEqual([join(folder, 'mine.js'), 'kivi']);
  const tune = await effective(['tune', '--budget-bits', '3', '--capture', 'x'], directory);
  expect(tune.capture?.value).toBe('x');
});

test.each([
  ['ts', `const scheme: string[] = ['kivi'];\nexport default { scheme };`],
  [
    'mts',
    `interface A { all: boolean }\nconst a: A = { all: true };\nexport default { scheme: 'kivi', ...a };`,
  ],
  ['mjs', `export default { scheme: ['kivi'] };`],
  ['json', '{"scheme": ["kivi"]}'],
])('.%s files load, after they were named', async (extension, text) => {
  const directory = directoryWith({ [`lowbit-kv.config.${extension}`]: text });
  const { stderr } = await runHere(['compare', '--print-config'], { directory });
  expect(stderr).toBe(`configuration: ${join(directory, '..', `lowbit-kv.config.${extension}`)}\n`);
  expect((await effective(['compare'], directory)).scheme?.value).toEqual(['kivi']);
});

test('the search ends at the root of the repository; a file may be named, or none', async () => {
  writeFileSync(join(outside, 'lowbit-kv.config.json'), '{"never": 1}');
  const directory = directoryWith({ 'other.json': '{"positions": 5}' });
  expect((await effective(['compare'], directory)).positions?.source).toBe('not set');
  const named = ['--config-file', '../other.json'];
  expect((await effective(['compare', ...named], directory)).positions?.value).toBe(5);
  expect((await effective([...named, 'compare'], directory)).positions?.value).toBe(5);
  const variable = { LOWBIT_KV_CONFIG_FILE: '../other.json' };
  expect((await effective(['compare'], directory, variable)).positions?.value).toBe(5);
  const none = await effective(['compare', '--no-config-file'], directory, variable);
  expect(none.positions?.source).toBe('not set');
});

test('a gate block is --gate and --fail-if', async () => {
  const directory = directoryWith({
    'lowbit-kv.config.json': '{"gate": {"builtIn": true, "failIf": "ppl.delta>2%"}}',
  });
  const found = await effective(['compare'], directory);
  expect(found.gate?.value).toBe(true);
  expect(found.failIf?.value).toEqual(['ppl.delta>2%']);
});

test.each<[string, RegExp]>([
  ['{"schemes": "kivi"}', /got "schemes"; valid: .*Did you mean "scheme"\?/s],
  [
    '{"compare": {"posisions": 3}}',
    /got "compare.posisions"; valid: .*Did you mean "positions"\?/s,
  ],
  ['{"schemes": {"positions": 3}}', /got "schemes.positions"/],
  [
    '{"compare": {"positions": "3"}}',
    /setting compare.positions is not valid .*got "3"; valid: .*number/,
  ],
  ['{"positions": 0}', /setting positions is not valid .*It must be a positive integer/],
  ['{"positions": [1, 2]}', /setting positions is not valid/],
  ['{"backend": "metal"}', /Allowed choices are reference, onnx/],
  ['{"gate": {"failif": "bits>1"}}', /got "gate.failif".*Did you mean "failIf"\?/s],
  ['{"gate": {"failIf": 3}}', /setting gate is not valid/],
  ['{"all": "yes"}', /setting all is not valid .*boolean/],
  ['[1]', /a configuration is an object/],
  ['{', /does not load/],
  ['{"__proto__": {"all": true}, "constructor": 1}', /got "(__proto__|constructor)"/],
])('%s is refused', async (text, message) => {
  const directory = directoryWith({ 'lowbit-kv.config.json': text });
  const { code, stdout, stderr } = await runHere(['compare', '--print-config'], { directory });
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/CONFIG_INVALID/);
  expect(stderr).toMatch(message);
});

test('a module that throws, a missing file and two files are refused', async () => {
  const broken = directoryWith({ 'lowbit-kv.config.mjs': 'throw new Error("mine");' });
  expect((await runHere(['schemes'], { directory: broken })).stderr).toMatch(/does not load.*mine/);
  const missing = await runHere(['schemes', '--config-file', 'no.json'], { directory: broken });
  expect(missing).toMatchObject({ code: 1, stdout: '' });
  expect(missing.stderr).toMatch(/CONFIG_INVALID.*no\.json/s);
  const two = directoryWith({ 'lowbit-kv.config.json': '{}', 'lowbit-kv.config.js': '' });
  expect((await runHere(['schemes'], { directory: two })).stderr).toMatch(
    /several configuration files/,
  );
});

test.each<[Record<string, string>, RegExp]>([
  [
    { LOWBIT_KV_POSITIONS: 'many' },
    /LOWBIT_KV_POSITIONS is not valid; got "many".*positive integer/,
  ],
  [{ LOWBIT_KV_ALL: 'maybe' }, /LOWBIT_KV_ALL is not valid; got "maybe"; valid: 1, true/],
])('variables %j are refused', async (environment, message) => {
  const { code, stderr } = await runHere(['compare', '--print-config'], {
    environment,
    directory: root,
  });
  expect(code).toBe(1);
  expect(stderr).toMatch(message);
});

test('variables of flags, negated ones too', async () => {
  const found = await effective(['compare'], root, {
    LOWBIT_KV_ALL: '1',
    LOWBIT_KV_SCHEME: 'kivi',
  });
  expect(found.all?.value).toBe(true);
  expect(found.scheme?.value).toEqual(['kivi']);
  const args = ['capture', '--model', 'm', '--text', 't', '--out', 'o', '--print-config'];
  const { stdout } = await runHere(args, {
    directory: root,
    environment: { LOWBIT_KV_PRE_ROPE: '0' },
  });
  expect(stdout).toMatch(/^preRope +false +LOWBIT_KV_PRE_ROPE$/m);
});

test('what a command must have may stand in the file', async () => {
  const directory = directoryWith({ 'lowbit-kv.config.json': '{"budgetBits": 3.5}' });
  expect((await effective(['tune'], directory)).budgetBits?.value).toBe(3.5);
});
