// Flags, variables and the blocks and settings of a file: what wins, and where values come from.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { configFolders, effective } from '../support/config-folders.js';
import { runHere } from '../support/run-here.js';

const { root, directoryWith } = configFolders();

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

test('a list for every command is for those that take several', async () => {
  const content = { scheme: ['kivi', 'oaken'], tokens: [1, 2], out: 'reports' };
  const directory = directoryWith({ 'lowbit-kv.config.json': JSON.stringify(content) });
  const generate = await effective(['generate', '--scheme', 'f16'], directory);
  expect(generate.scheme).toEqual({ value: 'f16', source: 'flag' });
  expect((await effective(['export-onnx'], directory)).scheme?.source).toBe('not set');
  expect((await effective(['capture'], directory)).tokens?.source).toBe('default');
  expect((await effective(['estimate'], directory)).tokens?.value).toEqual([1, 2]);
  // A folder of reports is no file, and none of graphs.
  const out = join(directory, '..', 'reports');
  expect((await effective(['eval'], directory)).out?.value).toBe(out);
  for (const command of ['tune', 'capture', 'export-onnx'])
    expect((await effective([command], directory)).out?.source).toBe('not set');
});

test('of two that cannot be used together the one of the higher place counts', async () => {
  const content = { markdown: true, estimate: { json: true }, config: 'c.json' };
  const directory = directoryWith({ 'lowbit-kv.config.json': JSON.stringify(content) });
  const estimate = await effective(['estimate'], directory, { LOWBIT_KV_GEOMETRY: '{}' });
  expect(estimate.json?.source).toMatch(/^estimate\.json of /);
  expect(estimate.markdown).toEqual({ value: null, source: 'not set' });
  expect(estimate.geometry).toEqual({ value: '{}', source: 'LOWBIT_KV_GEOMETRY' });
  expect(estimate.config).toEqual({ value: null, source: 'not set' });
  const off = directoryWith({
    'lowbit-kv.config.json': '{"json": true, "compare": {"json": false}}',
  });
  const { stdout } = await runHere(['compare', '--markdown', '--print-config'], { directory: off });
  expect(stdout).toMatch(/^markdown +true +flag$/m);
});

test('of one place they are refused by name', async () => {
  const directory = directoryWith({ 'lowbit-kv.config.json': '{"json": true, "markdown": true}' });
  const file = await runHere(['compare', '--print-config'], { directory });
  expect(file).toMatchObject({ code: 1, stdout: '' });
  expect(file.stderr).toMatch(/CONFIG_INVALID: the setting markdown .*it or json of .*not both/);
  const environment = { LOWBIT_KV_JSON: '1', LOWBIT_KV_MARKDOWN: '1' };
  const variables = await runHere(['compare', '--print-config'], { directory: root, environment });
  expect(variables).toMatchObject({ code: 1, stdout: '' });
  expect(variables.stderr).toMatch(
    /LOWBIT_KV_MARKDOWN is not valid.*it or LOWBIT_KV_JSON, not both/,
  );
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
    scheme: ['./mine.js', 'other.js', 'kivi'],
    model: 'org/name',
    exportOnnx: { out: 'graphs', scheme: 'kivi', geometry: { layers: 1 } },
    estimate: { geometry: 'geometry.json' },
    generate: { model: '.' },
    bench: { out: 'figures' },
  };
  const directory = directoryWith({ 'lowbit-kv.config.json': JSON.stringify(content) });
  const folder = join(directory, '..');
  const found = await effective(['compare'], directory);
  expect(found.capture?.value).toBe(join(folder, 'keys.safetensors'));
  expect(found.scheme?.value).toEqual([join(folder, 'mine.js'), join(folder, 'other.js'), 'kivi']);
  const { geometry, out, scheme } = await effective(['export-onnx'], directory);
  expect(geometry?.value).toBe('{"layers":1}');
  expect([out?.value, scheme?.value]).toEqual([join(folder, 'graphs'), 'kivi']);
  const estimate = await effective(['estimate'], directory);
  expect(estimate.geometry?.value).toBe(join(folder, 'geometry.json'));
  expect((await effective(['bench'], directory)).out?.value).toBe(join(folder, 'figures'));
  expect((await effective(['eval'], directory)).model?.value).toBe('org/name');
  expect((await effective(['generate'], directory)).model?.value).toBe(folder);
  const tune = await effective(['tune', '--budget-bits', '3', '--capture', 'x'], directory);
  expect(tune.capture?.value).toBe('x');
});

test('variables of flags, of lists, of negated flags', async () => {
  const found = await effective(['compare'], root, {
    LOWBIT_KV_ALL: '1',
    LOWBIT_KV_SCHEME: 'kivi, ./mine.js',
    LOWBIT_KV_FAIL_IF: 'bits>4,output.mean>0.1',
    LOWBIT_KV_CONFIG_FILE: '',
  });
  expect(found.all?.value).toBe(true);
  expect(found.scheme?.value).toEqual(['kivi', './mine.js']);
  expect(found.failIf?.value).toEqual(['bits>4', 'output.mean>0.1']);
  const args = ['capture', '--print-config'];
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
