// The source rules find what they are for, and only that.
import { expect, test } from 'vitest';
import {
  branchesOnId,
  effectsOnImport,
  schemeNamesInCode,
  schemeNamesInText,
} from '../src/source-rules.js';

const file = (text: string) => ({ path: 'sample.ts', text });

test('scheme names are found in identifiers, types, strings and templates, not in comments', () => {
  const sample = file(
    [
      '// Kivi packs after attention.',
      "const a = 'kivi-2bit';",
      'type KiviPlan = number; /* KIVI */',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the sample is itself a template.
      'const b = `x ${1} oaken`;',
      "const url = 'https://example.org'; const token = 1;",
    ].join('\n'),
  );
  expect(schemeNamesInCode(sample, ['kivi', 'oaken'])).toEqual([
    "sample.ts:2 names the scheme 'kivi'",
    "sample.ts:3 names the scheme 'Kivi'",
    "sample.ts:4 names the scheme 'oaken'",
  ]);
  expect(schemeNamesInText(sample, ['kivi'])).toHaveLength(4);
});

test('the name of the project is no scheme name', () => {
  const sample = file(
    "import { LowbitKvError } from '@lowbit-kv/core';\nconst lowbitPlan = 'lowbit-2-9';",
  );
  expect(schemeNamesInCode(sample, ['kivi', 'lowbit'])).toEqual([
    "sample.ts:2 names the scheme 'lowbit'",
    "sample.ts:2 names the scheme 'lowbit'",
  ]);
});

test('branches on an id are found', () => {
  const branching = [
    "if (scheme.id === 'a') run();",
    "if ('a' !== schemeId) run();",
    "if (plan?.scheme.id == 'a') run();",
    "const bits = backend.id === 'a' ? 1 : 2;",
    "switch (scheme.id) { case 'a': run(); }",
    'if (id === `a`) run();',
  ];
  for (const text of branching) {
    expect(branchesOnId(file(text)), text).toEqual(['sample.ts:1 branches on an id']);
  }
});

test('comparing two ids, or other fields with text, is not a branch on an id', () => {
  const fine = [
    'if (a.id === b.id) run();',
    "if (mode === 'symmetric') run();",
    'map.get(scheme.id);',
  ];
  for (const text of fine) expect(branchesOnId(file(text)), text).toEqual([]);
});

test('effects on import are found', () => {
  expect(effectsOnImport(file('registerScheme({});'))).toHaveLength(1);
  expect(effectsOnImport(file('globalThis.lowbitKv = 1;'))).toHaveLength(1);
  expect(effectsOnImport(file("import './register.js';"))).toHaveLength(1);
  expect(effectsOnImport(file("import 'reflect-metadata';"), ['reflect-metadata'])).toEqual([]);
  const fine =
    "import type { A } from './a.js';\nexport const x = f();\nexport function f() { g(); }";
  expect(effectsOnImport(file(fine))).toEqual([]);
});
