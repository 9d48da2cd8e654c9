// `--scheme` resolves ids, packages of the user's directory and files, in this order.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { presets as kivi, kivi2 } from '@lowbit-kv/scheme-kivi';
import { describe, expect, test } from 'vitest';
import { resolveNames, resolveSchemes } from '../src/schemes/resolve-schemes.js';
import { Terminal } from '../src/terminal.js';
import { temporaryDirectory } from './support/temporary-directory.js';

const directory = temporaryDirectory();
const write = (path: string, text: string) => {
  mkdirSync(dirname(join(directory, path)), { recursive: true });
  writeFileSync(join(directory, path), text);
};
const scheme = (id: string) => JSON.stringify({ ...structuredClone(kivi2), id });

function makePackage(name: string, exported: unknown, text: string): void {
  const manifest = { name, version: '1.0.0', type: 'module', exports: exported };
  write(`node_modules/${name}/package.json`, JSON.stringify(manifest));
  write(`node_modules/${name}/entry.js`, text);
}

const resolve = (...names: string[]) => resolved(names, false);
const resolveAll = (...names: string[]) => resolved(names, true);

async function resolved(names: string[], all: boolean) {
  let notes = '';
  const stream = {
    write: (text: string) => {
      notes += text;
    },
  };
  const terminal = new Terminal({
    stdout: {
      write: () => {
        throw new Error('stdout is for data');
      },
    },
    stderr: stream,
    environment: {},
    directory,
  });
  const chosen = names.length === 0 ? undefined : names;
  const { schemes, simulations } = await resolveNames(chosen, terminal, all);
  return {
    ids: schemes.map((entry) => entry.scheme.id),
    simulations: simulations.map(({ id }) => id),
    notes,
  };
}

function silentTerminal(): Terminal {
  const stream = { write: () => undefined };
  return new Terminal({ stdout: stream, stderr: stream, environment: {}, directory });
}

describe('what a name means', () => {
  test('nothing: the presets that are compared by default, without a word', async () => {
    const { ids, notes } = await resolve();
    expect(ids.length).toBeGreaterThan(10);
    expect(ids).toEqual(expect.arrayContaining(kivi.map(({ id }) => id)));
    expect(notes).toBe('');
  });

  test('the whole shelf holds more, and what is named comes after it once', async () => {
    const { ids } = await resolveAll();
    expect(ids.length).toBeGreaterThan((await resolve()).ids.length);
    expect((await resolveAll('kivi')).ids).toEqual(ids);
    write('after.mjs', `export default ${scheme('after')};`);
    expect((await resolveAll('./after.mjs')).ids).toEqual([...ids, 'after']);
  });

  test('an id', async () => {
    const { ids, notes } = await resolve('kivi-2bit-g32');
    expect(ids).toEqual(['kivi-2bit-g32']);
    expect(notes).toBe('--scheme kivi-2bit-g32: kivi-2bit-g32 (@lowbit-kv/scheme-kivi)\n');
  });

  test('the short name of a package that comes with the command', async () => {
    const expected = kivi.map(({ id }) => id);
    expect((await resolve('kivi')).ids).toEqual(expected);
    expect((await resolve('@lowbit-kv/scheme-kivi')).ids).toEqual(expected);
  });

  test('a package of the user, ours before others, with `import` exports only', async () => {
    makePackage('lowbit-kv-scheme-both', './entry.js', `export default ${scheme('third-party')};`);
    makePackage(
      '@lowbit-kv/scheme-both',
      { '.': { types: './none.d.ts', import: './entry.js' } },
      `export const presets = [${scheme('ours-a')}, ${scheme('ours-b')}]; export default ${scheme('no')};`,
    );
    const { ids, notes } = await resolve('both');
    expect(ids).toEqual(['ours-a', 'ours-b']);
    expect(notes).toBe('--scheme both: ours-a, ours-b (@lowbit-kv/scheme-both)\n');
    expect((await resolve('lowbit-kv-scheme-both')).ids).toEqual(['third-party']);
  });

  test('a file: default export, several exports, with or without its extension', async () => {
    write('one.mjs', `export default ${scheme('one')};`);
    write('two.mjs', `export const a = ${scheme('two-a')}, b = ${scheme('two-b')}, other = 1;`);
    expect((await resolve('./one.mjs')).ids).toEqual(['one']);
    expect((await resolve(join(directory, 'one.mjs'))).ids).toEqual(['one']);
    expect((await resolve('one')).ids).toEqual(['one']);
    expect((await resolve('./two.mjs')).ids).toEqual(['two-a', 'two-b']);
  });

  test("the authors' code of a package: schemes and simulations", async () => {
    const { ids, simulations, notes } = await resolve('innerq/compat', 'innerq/compat');
    expect(ids).toEqual(expect.arrayContaining(['innerq-fp16-base']));
    expect(simulations).toEqual(expect.arrayContaining(['innerq-repository-base']));
    expect(new Set(simulations).size).toBe(simulations.length);
    expect(notes).toMatch(/innerq-fp16-base.*innerq-repository-base.*scheme-innerq\/compat\)/);
    const exact = await resolve('@lowbit-kv/scheme-oaken/compat');
    expect(exact.simulations).toContain('oaken-artifact');
  });

  test("the id of a scheme or a simulation of the authors' code", async () => {
    expect(await resolve('oaken-artifact', 'kivi-fp16-2bit-g32', 'oaken/compat')).toMatchObject({
      ids: ['kivi-fp16-2bit-g32'],
      simulations: [
        'oaken-artifact',
        ...['oaken-artifact-no-shift', 'oaken-artifact-middle-only', 'oaken-artifact-post-rope'],
      ],
    });
  });

  test("without a name nothing of the authors' code", async () => {
    for (const { ids, simulations } of [await resolve(), await resolveAll()]) {
      expect(simulations).toEqual([]);
      expect(ids.filter((id) => id.includes('fp16'))).toEqual([]);
    }
  });

  test('a file of simulations, which only compare takes', async () => {
    write('simulated.mjs', `export const simulations = [{ id: 'made-up', stage: 'post-rope' }];`);
    expect(await resolve('./simulated.mjs')).toMatchObject({ ids: [], simulations: ['made-up'] });
    const failure = resolveSchemes(['./simulated.mjs'], silentTerminal());
    await expect(failure).rejects.toThrow(/^OPTION_INVALID: a simulation stores nothing/);
  });

  test('a scheme file in JSON', async () => {
    write('bare.json', scheme('bare'));
    expect((await resolve('./bare.json')).ids).toEqual(['bare']);
    write('whole.json', `{"schemeFile":1,"scheme":${scheme('whole')},"provenance":{"by":"hand"}}`);
    expect((await resolve('whole.json')).ids).toEqual(['whole']);
  });

  test('a preset that is named twice counts once', async () => {
    const { ids } = await resolve('kivi-4bit-g32', 'kivi', 'kivi-2bit-g32');
    expect(ids[0]).toBe('kivi-4bit-g32');
    expect([...ids].sort()).toEqual(kivi.map(({ id }) => id).sort());
  });
});

describe('what cannot be resolved', () => {
  test.each<[string, RegExp]>([
    ['kivi-2bit-g23', /Did you mean "kivi-2bit-g32"\? Name one of these presets\.$/],
    ['kivi-5bit', /Name one of these presets\.$/],
    ['kivy', /Did you mean "kivi"\?/],
    ['zzzzzzzz', /\. If it is a package, install it here: npm install lowbit-kv-scheme-zzzzzzzz$/],
    ['@acme/kv', /npm install @acme\/kv$/],
    ['./nothing.js', /Check the path: it is relative to the current directory\.$/],
    ['nothing.js', /Check the path/],
    ['what is this?', /Name a preset, a package or a file/],
  ])('%s', async (name, message) => {
    const failure = resolve(name);
    await expect(failure).rejects.toMatchObject({ code: 'SCHEME_NOT_FOUND', value: name });
    await expect(failure).rejects.toThrow(message);
    await expect(failure).rejects.toThrow(/valid: "kivi-2bit-g32"/);
  });

  test('a module that throws keeps its reason', async () => {
    write('broken.mjs', `import 'not-installed-anywhere'; export default 1;`);
    const failure = resolve('./broken.mjs');
    await expect(failure).rejects.toMatchObject({ code: 'SCHEME_NOT_FOUND' });
    await expect(failure).rejects.toThrow(/failed to load.*not-installed-anywhere/);
  });

  test('what defineScheme says of a module is not cut short', async () => {
    const core = JSON.stringify(import.meta.resolve('@lowbit-kv/core'));
    const data = `{ specVersion: 1, id: 'mine', title: 'Mine', sinks: 0, packing: 'never' }`;
    write(
      'faulty.mjs',
      `import { defineScheme } from ${core}; export default defineScheme(${data});`,
    );
    const failure = resolve('./faulty.mjs');
    await expect(failure).rejects.toMatchObject({ code: 'SCHEME_INVALID' });
    await expect(failure).rejects.toThrow(/packing is not valid.*before-attention/);
  });

  test.each([
    ['lowbit/compat', /authors' code is there as @lowbit-kv\/scheme-kivi\/compat/],
    ['./notes.txt', /There is something of this name, but a scheme is read from \.js/],
  ])('%s says what there is instead', async (name, message) => {
    write('notes.txt', '{}');
    await expect(resolve(name)).rejects.toThrow(message);
  });

  test('a module without a scheme says what it exports', async () => {
    write('empty.mjs', 'export const setting = 1; export default () => 0;');
    const failure = resolve('./empty.mjs');
    await expect(failure).rejects.toMatchObject({
      code: 'SCHEME_INVALID',
      value: ['default', 'setting'],
    });
  });
});
