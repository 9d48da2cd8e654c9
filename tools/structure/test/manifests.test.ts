// Every package has the same parts, and none runs a script when it is installed.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { packagesIn, readManifest, repositoryRoot } from '../src/workspace.js';

const packages = packagesIn('packages');
const everything = [
  { folder: 'workspace root', path: repositoryRoot, manifest: readManifest(repositoryRoot) },
  ...packages,
  ...packagesIn('apps'),
  ...packagesIn('examples'),
  ...packagesIn('tools'),
];

// npm and pnpm run these when a package, or a git checkout of it, is installed.
const installScripts = [
  ...['preinstall', 'install', 'postinstall'],
  ...['preprepare', 'prepare', 'postprepare', 'prepublish'],
];

describe.each(everything)('$folder', ({ path, manifest }) => {
  test('has no install script', () => {
    const scripts = Object.keys(manifest.scripts ?? {});
    expect(scripts.filter((name) => installScripts.includes(name))).toEqual([]);
    expect(manifest.gypfile).toBeUndefined();
    expect(existsSync(join(path, 'binding.gyp'))).toBe(false);
  });

  test('is Apache-2.0 and ESM', () => {
    expect(manifest).toMatchObject({ license: 'Apache-2.0', type: 'module' });
  });
});

test('all packages carry one version', () => {
  expect(new Set(packages.map(({ manifest }) => manifest.version)).size).toBe(1);
});

describe.each(packages)('$folder', ({ folder, path, manifest }) => {
  test('has the common files', () => {
    const required = ['README.md', 'tsconfig.json', 'tsconfig.build.json', 'src/index.ts'];
    expect(required.filter((name) => !existsSync(join(path, name)))).toEqual([]);
    expect(readFileSync(join(path, 'README.md'), 'utf8')).toMatch(`# ${manifest.name}\n`);
  });

  test('has the common manifest fields', () => {
    expect(manifest.name).toBe(folder === 'cli' ? 'lowbit-kv' : `@lowbit-kv/${folder}`);
    expect(manifest.private).toBeUndefined();
    expect(manifest.description).toMatch(/\S/);
    expect(manifest.keywords).toContain('lowbit-kv');
    expect(manifest.sideEffects).toBe(false);
    expect(manifest.engines).toEqual({ node: '>=20.19' });
    expect(manifest.files).toEqual(expect.arrayContaining(['dist', 'src']));
    expect(Object.keys(manifest.scripts ?? {})).toEqual(
      expect.arrayContaining(['build', 'typecheck', 'check:pkg']),
    );
  });

  test('exports sources, types and JavaScript in that order', () => {
    const { './package.json': manifestEntry, ...entries } = manifest.exports ?? {};
    expect(manifestEntry).toBe('./package.json');
    expect(Object.keys(entries)).toContain('.');
    for (const [subpath, conditions] of Object.entries(entries)) {
      const { '@lowbit-kv/source': source } = conditions as Record<string, string>;
      const module = /^\.\/src\/(.+)\.ts$/.exec(source ?? '')?.[1];
      expect(module, `${subpath} has a source`).toBeDefined();
      expect(existsSync(join(path, `src/${module}.ts`)), source).toBe(true);
      expect(Object.entries(conditions as Record<string, string>)).toEqual([
        ['@lowbit-kv/source', `./src/${module}.ts`],
        ['types', `./dist/${module}.d.ts`],
        ['default', `./dist/${module}.js`],
      ]);
    }
  });

  test('takes core as every package outside the command line must', () => {
    const { dependencies = {}, peerDependencies = {}, devDependencies = {} } = manifest;
    if (folder === 'core') return expect(dependencies).toHaveProperty('inversify');
    expect(dependencies).not.toHaveProperty('inversify');
    if (folder === 'cli')
      return expect(dependencies).toHaveProperty('@lowbit-kv/core', 'workspace:^');
    // A second copy of core would break tokens and error checks: it is a peer, never a dependency.
    expect(dependencies).not.toHaveProperty('@lowbit-kv/core');
    expect(peerDependencies).toHaveProperty('@lowbit-kv/core', 'workspace:^');
    expect(devDependencies).toHaveProperty('@lowbit-kv/core', 'workspace:*');
  });
});

const plugins = packages.filter(({ folder }) => /^(scheme|backend)-/.test(folder));
describe.each(plugins)('$folder', ({ folder, manifest }) => {
  test('can be found by its keyword and depends on no other plugin', () => {
    const [kind] = folder.split('-');
    expect(manifest.keywords).toContain(`lowbit-kv-${kind}`);
    const needs = { ...manifest.dependencies, ...manifest.peerDependencies };
    expect(
      Object.keys(needs).filter((name) => /^@lowbit-kv\/(scheme|backend)-/.test(name)),
    ).toEqual([]);
  });
});

const compatible = plugins.filter(({ manifest }) => './compat' in (manifest.exports ?? {}));
const document = readFileSync(join(repositoryRoot, 'docs/compatibility.md'), 'utf8');

test('the schemes that reproduce published code say so', () => {
  expect(compatible.map(({ folder }) => folder)).toEqual(
    expect.arrayContaining(['scheme-innerq', 'scheme-kivi', 'scheme-oaken']),
  );
});

describe.each(compatible)('$folder', ({ path, manifest }) => {
  test('has every part of compatibility: source, golden comparison, two documents', () => {
    expect(existsSync(join(path, 'src/compat/index.ts'))).toBe(true);
    expect(existsSync(join(path, 'test/golden/acceptance.ts'))).toBe(true);
    expect(existsSync(join(path, 'test/golden/golden.test.ts'))).toBe(true);
    expect(readFileSync(join(path, 'README.md'), 'utf8')).toContain('\n## Compatibility\n');
    expect(document).toContain(`${manifest.name}/compat`);
  });
});
