// Which configuration file is found, and how it is loaded.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { configFolders, effective } from '../support/config-folders.js';
import { runHere } from '../support/run-here.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const { outside, directoryWith } = configFolders();

test.each([
  ['ts', `const scheme: string[] = ['kivi'];\nexport default { scheme };`],
  [
    'mts',
    `interface A { all: boolean }\nconst a: A = { all: true };\nexport default { scheme: 'kivi', ...a };`,
  ],
  ['mjs', `export default { scheme: ['kivi'] };`],
  ['js', `module.exports = { scheme: ['kivi'] };`],
  ['json', '{"scheme": ["kivi"]}'],
])('.%s files load, after they were named', async (extension, text) => {
  const directory = directoryWith({ [`lowbit-kv.config.${extension}`]: text });
  const { stderr } = await runHere(['compare', '--print-config'], { directory });
  expect(stderr).toBe(`configuration: ${join(directory, '..', `lowbit-kv.config.${extension}`)}\n`);
  expect((await effective(['compare'], directory)).scheme?.value).toEqual(['kivi']);
});

test.each(['ts', 'mjs', 'js'])(
  'defineConfig is there for a .%s file without an installation',
  async (extension) => {
    const text = `import { defineConfig } from 'lowbit-kv';
    const windows = await Promise.resolve(3);
    export default defineConfig({ eval: { windows } });`;
    const directory = directoryWith({ [`lowbit-kv.config.${extension}`]: text });
    expect((await effective(['eval'], directory)).windows?.value).toBe(3);
  },
);

test('outside a repository nothing above the directory is loaded', async () => {
  const free = temporaryDirectory();
  mkdirSync(join(free, 'below'));
  writeFileSync(join(free, 'lowbit-kv.config.json'), '{"positions": 5}');
  expect((await effective(['compare'], free)).positions?.value).toBe(5);
  const below = await runHere(['compare', '--print-config'], { directory: join(free, 'below') });
  expect(below).toMatchObject({ code: 0, stderr: '' });
});

test('completion, which shells run at their start, loads nothing', async () => {
  const directory = directoryWith({ 'lowbit-kv.config.mjs': 'throw new Error("loaded");' });
  const { code, stderr } = await runHere(['completion', 'bash'], { directory });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
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
