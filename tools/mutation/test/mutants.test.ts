// The mutants still fit the sources: fast, so that CI notices when a source moves on.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  type Mutant,
  mutate,
  readSource,
  repositoryRoot,
  sourcePath,
  type Target,
  testChoices,
} from '../src/mutant.js';
import { faults, type KeptOutcome, pendingMutants, withOutcome } from '../src/report.js';
import { targets } from '../src/targets.js';

describe.each(targets)('$package $file', (target) => {
  test.each(target.mutants)('$kind: $why', (mutant) => {
    const source = readSource(repositoryRoot, target);
    expect(mutate(source, mutant, target.file)).not.toBe(source);
  });

  test('names test files that exist', () => {
    expect(target.tests.length).toBeGreaterThan(0);
    const missing = testChoices(target)
      .flatMap(({ files }) => files)
      .filter((file) => !existsSync(join(repositoryRoot, file)));
    expect(missing).toEqual([]);
  });
});

test('there are at least 300 mutants, all different', () => {
  const all = targets.flatMap((target) =>
    target.mutants.map(({ find, replace }) => `${sourcePath(target)} ${find} ${replace}`),
  );
  expect(all.length).toBeGreaterThanOrEqual(300);
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

const outcome = (of: Mutant, killedBy: string | null, source = 'text'): KeptOutcome => ({
  ...{ ...of, file: 'packages/core/src/law/bits.ts', killedBy, source },
  ...{ seconds: 1, commit: 'abc' },
});

test('survivors need an explanation, and explanations a survivor', () => {
  const explained = { ...mutant, equivalent: 'a reason' };
  expect(faults([outcome(mutant, 'a test'), outcome(explained, null)])).toEqual([]);
  expect(faults([outcome(mutant, null)])).toEqual([
    expect.stringContaining('survived without an explanation'),
  ]);
  expect(faults([outcome(explained, 'a test')])).toEqual([
    expect.stringContaining('called equivalent'),
  ]);
});

test('files that are run whole are run together, those of which some tests are run apart', () => {
  const tests = ['a.test.ts', 'b.test.ts', 'c.test.ts::one', 'c.test.ts::two', 'd.test.ts'];
  const of = (name: string) => `packages/core/test/${name}.test.ts`;
  expect(testChoices({ file: 'x.ts', tests, mutants: [] })).toEqual([
    { files: [of('a'), of('b')], only: undefined },
    { files: [of('c')], only: 'one' },
    { files: [of('c')], only: 'two' },
    { files: [of('d')], only: undefined },
  ]);
});

test('an outcome replaces that of its mutant only, and mutants that are gone lose theirs', () => {
  const other = { ...mutant, find: 'c - d', replace: 'c + d' };
  const target = { file: 'law/bits.ts', tests: [], mutants: [mutant, other] };
  const none = { unbroken: { tree: '', tests: [] }, outcomes: [] };
  const one = withOutcome(none, outcome(other, 'first'), [target]);
  const both = withOutcome(one, outcome(mutant, null), [target]);
  const again = withOutcome(both, outcome(other, 'second'), [target]);
  expect(again.outcomes.map(({ killedBy }) => killedBy)).toEqual([null, 'second']);
  const left = withOutcome(again, outcome(other, 'third'), [{ ...target, mutants: [other] }]);
  expect(left.outcomes.map(({ killedBy }) => killedBy)).toEqual(['third']);
});

test('mutants wait for a run while there is no outcome of their source as it is', () => {
  const target = targets.find(({ file }) => file === 'law/bits.ts') as Target;
  const [first, second] = target.mutants as [Mutant, Mutant];
  const two = [{ ...target, mutants: [first, second] }];
  const pending = pendingMutants({ outcomes: [] }, two, repositoryRoot, false);
  expect(pending.map(({ mutant: one }) => one)).toEqual([first, second]);
  const source = pending[0]?.source as string;
  const outcomes = [outcome(first, 'a test', source), outcome(second, 'a test', 'older')];
  const waiting = (all: boolean) =>
    pendingMutants({ outcomes }, two, repositoryRoot, all).map(({ mutant: one }) => one);
  expect(waiting(false)).toEqual([second]);
  outcomes[0] = outcome(first, null, source);
  expect(waiting(false)).toEqual([first, second]);
  expect(waiting(true)).toEqual([first, second]);
});
