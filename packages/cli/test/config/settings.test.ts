// What a configuration file may say: every option by its name, blocks, gates; and what is refused.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { COMMAND_BLOCKS } from '../../src/config/define-config.js';
import { blockName, settings } from '../../src/config/settings.js';
import { defineConfig } from '../../src/index.js';
import { configFolders, effective } from '../support/config-folders.js';
import { quietProgram } from '../support/quiet-program.js';
import { runHere } from '../support/run-here.js';
import { writeTinyCapture } from '../support/tiny-capture.js';

const { outside, root, directoryWith } = configFolders();

test('there is a setting for every option, and no other', () => {
  const options = quietProgram().commands.flatMap((command) =>
    command.options.map((option) => option.attributeName()),
  );
  expect(Object.keys(settings.shape).sort()).toEqual([...new Set(options)].sort());
});

test('there is a block for every command with options, and no other', () => {
  const names = quietProgram()
    .commands.filter(({ options }) => options.length > 0)
    .map((command) => blockName(command.name()));
  expect([...COMMAND_BLOCKS].sort()).toEqual(names.sort());
});

test('defineConfig knows the settings', () => {
  const config = defineConfig({ model: './m', eval: { windows: 4 }, capture: { layers: [0] } });
  expect(config).toEqual({ model: './m', eval: { windows: 4 }, capture: { layers: [0] } });
  // @ts-expect-error a wrong name
  defineConfig({ modle: './m' });
  // @ts-expect-error a wrong kind
  defineConfig({ eval: { windows: '4' } });
  // @ts-expect-error no such command
  defineConfig({ evaluate: { windows: 4 } });
});

test('a gate block is --gate and --fail-if of commands that have a gate', async () => {
  const gate = { builtIn: true, failIf: 'bits>4' };
  const content = { gate, eval: { gate: { failIf: ['ppl.delta>2%'] } } };
  const directory = directoryWith({ 'lowbit-kv.config.json': JSON.stringify(content) });
  const compare = await effective(['compare'], directory);
  expect([compare.gate?.value, compare.failIf?.value]).toEqual([true, ['bits>4']]);
  const evaluated = await effective(['eval'], directory);
  expect([evaluated.gate?.value, evaluated.failIf?.value]).toEqual([true, ['ppl.delta>2%']]);
  expect(evaluated.failIf?.source).toMatch(/^eval\.gate\.failIf of /);
  // Its conditions are on changes.
  expect((await effective(['diff'], directory)).failIf?.source).toBe('not set');
});

test('a gate of the file is judged', async () => {
  const directory = directoryWith({
    'lowbit-kv.config.json':
      '{"capture": "../../tiny.safetensors", "gate": {"failIf": "bits>0.1"}}',
  });
  await writeTinyCapture(join(outside, 'tiny.safetensors'));
  const { code, stderr } = await runHere(
    ['compare', '--scheme', 'kivi-4bit-g32', '--positions', '2'],
    {
      directory,
    },
  );
  expect(code).toBe(3);
  expect(stderr).toMatch(/^gate failed: kivi-4bit-g32 fails bits>0\.1/m);
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
  ['{"eval": {"gate": {"failif": "bits>1"}}}', /got "eval.gate.failif".*Did you mean "failIf"\?/s],
  ['{"diff": {"gate": true}}', /got "diff.gate"/],
  ['{"failIf": "bits>1", "gate": {"failIf": "bits>2"}}', /setting gate\.failIf .*it or failIf/],
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

test('an object of too many levels is refused by name', async () => {
  const levels = 20_000;
  const text = `{ "estimate": { "geometry": ${'{"a":'.repeat(levels)}1${'}'.repeat(levels)} } }`;
  const directory = directoryWith({ 'lowbit-kv.config.json': text });
  const { code, stderr } = await runHere(['estimate'], { directory });
  expect(code).toBe(1);
  expect(stderr).toMatch(/error CONFIG_INVALID: .*estimate\.geometry/);
});
