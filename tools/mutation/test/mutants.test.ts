// The mutants still fit the sources: fast, so that CI notices when a source moves on.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { mutate, readSource, repositoryRoot, testFolder } from '../src/mutant.js';
import type { Outcome } from '../src/outcomes.js';
import { faults, withRun } from '../src/report.js';
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

test('survivors need an explanation, and explanations a survivor', () => {
  const outcome = (killedBy: string | null, equivalent?: string): Outcome => ({
    ...mutant,
    file: 'x.ts',
    killedBy,
    wholeSuite: false,
    seconds: 1,
    ...(equivalent === undefined ? {} : { equivalent }),
  });
  expect(faults([outcome('a test'), outcome(null, 'a reason')])).toEqual([]);
  expect(faults([outcome(null)])).toEqual([
    expect.stringContaining('survived without an explanation'),
  ]);
  expect(faults([outcome('a test', 'a reason')])).toEqual([
    expect.stringContaining('called equivalent'),
  ]);
});

test('a run replaces the outcomes of its own mutants only, and mutants that are gone lose theirs', () => {
  const other = { ...mutant, find: 'c - d', replace: 'c + d' };
  const target = { file: 'x.ts', tests: [], mutants: [mutant, other] };
  const outcome = (of: (typeof target.mutants)[number], killedBy: string | null): Outcome => ({
    ...of,
    file: 'x.ts',
    killedBy,
    wholeSuite: false,
    seconds: 1,
  });
  const run = (command: string) => ({
    ...{ date: '2030-01-01', command, commit: 'abc', machine: '2 cores' },
    ...{ loadAverage: 1, mutants: 1, seconds: 1 },
  });
  const none = { runs: [], outcomes: [] };
  const both = [outcome(mutant, 'first'), outcome(other, null)];
  const first = withRun(none, run('first'), both, [target]);
  const second = withRun(first, run('second'), [outcome(other, 'second')], [target]);
  expect(second.outcomes.map(({ killedBy, run: index }) => [killedBy, index])).toEqual([
    ['first', 0],
    ['second', 1],
  ]);
  const third = withRun(second, run('third'), [], [{ ...target, mutants: [other] }]);
  expect(third.runs.map(({ command }) => command)).toEqual(['second']);
  expect(third.outcomes).toMatchObject([{ find: 'c - d', killedBy: 'second', run: 0 }]);
});
