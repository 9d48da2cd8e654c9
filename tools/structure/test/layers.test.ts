// What each layer may know, over the real sources. Import rules are in biome.jsonc.
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  branchesOnId,
  effectsOnImport,
  schemeNamesInCode,
  schemeNamesInText,
} from '../src/source-rules.js';
import { filesBelow, packagesIn } from '../src/workspace.js';

const packages = packagesIn('packages');
const withPrefix = (prefix: string) => packages.filter(({ folder }) => folder.startsWith(prefix));
const schemeNames = withPrefix('scheme-').map(({ folder }) => folder.slice('scheme-'.length));
const core = packages.filter(({ folder }) => folder === 'core');
const sourcesOf = (path: string) => filesBelow(join(path, 'src'), ['.ts']);

test('the scan sees the packages it is about', () => {
  expect(schemeNames).toEqual(expect.arrayContaining(['kivi', 'innerq', 'oaken']));
  expect(core.flatMap(({ path }) => sourcesOf(path))).not.toHaveLength(0);
  expect(withPrefix('backend-').flatMap(({ path }) => sourcesOf(path))).not.toHaveLength(0);
});

describe('core', () => {
  test.each(core.flatMap(({ path }) => sourcesOf(path)))('$path', (file) => {
    expect(schemeNamesInCode(file, schemeNames)).toEqual([]);
    expect(branchesOnId(file)).toEqual([]);
    expect(effectsOnImport(file, ['reflect-metadata'])).toEqual([]);
  });
});

describe.each(withPrefix('backend-'))('$folder', ({ path }) => {
  const kernels = filesBelow(join(path, 'src'), ['.wgsl', '.cu', '.cuh', '.json']);
  test.each([...sourcesOf(path), ...kernels])(
    '$path names no scheme, even in a comment',
    (file) => {
      expect(schemeNamesInText(file, schemeNames)).toEqual([]);
    },
  );
  test.each(sourcesOf(path))('$path', (file) => {
    expect(branchesOnId(file)).toEqual([]);
    expect(effectsOnImport(file)).toEqual([]);
  });
});

describe.each([...withPrefix('scheme-'), ...withPrefix('harness')])('$folder', ({ path }) => {
  test.each(sourcesOf(path))('$path does nothing on import', (file) => {
    expect(effectsOnImport(file)).toEqual([]);
  });
});
