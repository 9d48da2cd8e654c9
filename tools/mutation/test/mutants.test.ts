// The mutants still fit the sources: fast, so that CI notices when a source moves on.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { mutate, readSource, repositoryRoot, testFolder } from '../src/mutant.js';
import type { Outcome } from '../src/outcomes.js';
import { faults } from '../src/report.js';
import { targets } from '../src/targets.js';

describe.each(targets)('$file', (target) => {
  test.each(target.mutants)('$kind: $why', (mutant) => {
    const source = readSource(repositoryRoot, target);
    expect(mutate(source, mutant, target.file)).not.toBe(source);
  });

  test('names test files that exist', () => {
    expect(target.tests.length).toBeGreaterThan(0);
    const missing = target.tests.filter(
      (name) => !existsSync(join(repositoryRoot, testFolder, name)),
    );
    expect(missing).toEqual([]);
  });
});

test('there are at least 60 mutants, all different', () => {
  const all = targets.flatMap(({ file, mutants }) =>
    mutants.map(({ find, replace }) => `${file} ${find} ${replace}`),
  );
  expect(all.length).toBeGreaterThanOrEqual(60);
  expect(new Set(all).size).toBe(all.length);
});

const mutant = { kind: 'sign', find: 'a - b', replace: 'a + b', why: 'adds' } as const;

test('a text that is missing, or stands there twice, is refused', () => {
  expect(mutate('x = a - b;', mutant, 'x.ts')).toBe('x = a + b;');
  expect(() => mutate('x = a * b;', mutant, 'x.ts')).toThrow('found 0 times');
  expect(() => mutate('x = a - b; y = a - b;', mutant, 'x.ts')).toThrow('found 2 times');
  expect(() => mutate('x = a - b;', { ...mutant, replace: mutant.find }, 'x.ts')).toThrow(
    'changes nothing',
  );
});

test('survivors need an explanation, explanations a survivor, and few may survive', () => {
  const outcome = (killedBy: string | null, equivalent?: string): Outcome => ({
    ...mutant,
    file: 'x.ts',
    killedBy,
    wholeSuite: false,
    seconds: 1,
    ...(equivalent === undefined ? {} : { equivalent }),
  });
  const killed = Array.from({ length: 19 }, () => outcome('a test'));
  expect(faults([...killed, outcome(null, 'a reason')])).toEqual([]);
  expect(faults([...killed, outcome(null)])).toEqual([
    expect.stringContaining('survived without an explanation'),
  ]);
  expect(faults([...killed, outcome('a test', 'a reason')])).toEqual([
    expect.stringContaining('called equivalent'),
  ]);
  expect(faults([...killed.slice(1), outcome(null, 'a reason')])).toEqual([
    expect.stringContaining('18 of 19 killed'),
  ]);
});
