// Results, kept from run to run: JSON for programs, a table for people.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Mutant, readSource, repositoryRoot, sourcePath, type Target } from './mutant.js';
import type { Outcome } from './outcomes.js';

/** The share of mutants that must be killed. */
export const leastKilled = 0.95;
const path = join(repositoryRoot, 'tools/mutation/results/mutation');

export interface KeptOutcome extends Outcome {
  /** Of the text of the source: the result is of that text. */
  readonly source: string;
  /** As `copiedCommit` says. */
  readonly commit: string;
}

export interface Results {
  /** Tests that passed without a mutant, on what was copied in the last run. */
  readonly unbroken: { readonly tree: string; readonly tests: readonly string[] };
  /** At most one for each mutant: the last, in the order of the mutants. */
  readonly outcomes: readonly KeptOutcome[];
}

export function readResults(): Results {
  if (!existsSync(`${path}.json`)) return { unbroken: { tree: '', tests: [] }, outcomes: [] };
  return JSON.parse(readFileSync(`${path}.json`, 'utf8')) as Results;
}

export interface PendingMutant {
  readonly target: Target;
  readonly mutant: Mutant;
  /** Of its result. */
  readonly source: string;
}

/** Mutants without a result of the source as it is in the checkout at `root`, and survivors without an explanation: tests may be
 * better now. `all`: all others too. */
export function pendingMutants(
  { outcomes }: Pick<Results, 'outcomes'>,
  targets: readonly Target[],
  root: string,
  all: boolean,
): PendingMutant[] {
  const settled = outcomes.filter(
    ({ killedBy, equivalent }) => killedBy !== null || equivalent !== undefined,
  );
  const known = new Map(settled.map((outcome) => [keyOf(outcome.file, outcome), outcome.source]));
  return targets.flatMap((target) => {
    const source = createHash('sha256').update(readSource(root, target)).digest('hex').slice(0, 12);
    return target.mutants
      .filter((mutant) => all || known.get(keyOf(sourcePath(target), mutant)) !== source)
      .map((mutant) => ({ target, mutant, source }));
  });
}

/** The results with one more, in the order of the mutants; mutants that are gone are left out. */
export function withOutcome(
  results: Results,
  outcome: KeptOutcome,
  targets: readonly Target[],
): Results {
  const latest = new Map(results.outcomes.map((known) => [keyOf(known.file, known), known]));
  latest.set(keyOf(outcome.file, outcome), outcome);
  const outcomes = targets.flatMap((target) =>
    target.mutants.flatMap((mutant) => {
      const found = latest.get(keyOf(sourcePath(target), mutant));
      if (found === undefined) return [];
      // What was said about the mutant may have changed since.
      const { equivalent: _, ...rest } = found;
      return [{ ...rest, ...mutant }];
    }),
  );
  return { ...results, outcomes };
}

function keyOf(file: string, { find, replace }: Pick<Mutant, 'find' | 'replace'>): string {
  return JSON.stringify([file, find, replace]);
}

/** What is wrong with results: a survivor without an explanation, or an explanation that is not true. */
export function faults(outcomes: readonly Outcome[]): string[] {
  return outcomes.flatMap(({ file, find, killedBy, equivalent }) => {
    if (killedBy === null && equivalent === undefined)
      return [`${file}: survived without an explanation: ${find}`];
    if (killedBy !== null && equivalent !== undefined)
      return [`${file}: called equivalent, but killed by ${killedBy}: ${find}`];
    return [];
  });
}

export function killedCount(outcomes: readonly Outcome[]): number {
  return outcomes.filter(({ killedBy }) => killedBy !== null).length;
}

/** Writes both files and returns the path of the table. In one turn: copies of the sources are tested side by side. */
export function writeResults(results: Results, targets: readonly Target[]): string {
  for (const [name, text] of [
    [`${path}.json`, `${JSON.stringify(results, null, 2)}\n`],
    [`${path}.md`, table(results, targets)],
  ] as const) {
    writeFileSync(`${name}.tmp`, text);
    renameSync(`${name}.tmp`, name);
  }
  return `${path}.md`;
}

function table({ outcomes }: Results, targets: readonly Target[]): string {
  const missing = targets.flatMap(({ mutants }) => mutants).length - outcomes.length;
  const names = [...new Set(outcomes.map(packageOf))];
  const packages = names.map(
    (name) => `| ${name} | ${figures(outcomes.filter((outcome) => packageOf(outcome) === name))} |`,
  );
  const rows = outcomes.map(({ file, kind, find, why, killedBy, equivalent }) => {
    const verdict = killedBy ?? `**survived**: ${equivalent ?? 'not explained'}`;
    return `| ${short(file)} | ${kind} | \`${cell(find)}\` | ${why} | ${cell(short(verdict))} |`;
  });
  return [
    '# Mutation check',
    '',
    `Each mutant is one wrong token; it is killed when one of the tests nearest to it fails.${missing > 0 ? ` ${missing} more were not run.` : ''}`,
    'Written by `pnpm mutate`, which goes on where it was stopped and runs again what a change of its source made old.',
    '',
    '| package | mutants | killed | share | seconds |',
    '|---|---|---|---|---|',
    ...packages,
    `| all | ${figures(outcomes)} |`,
    '',
    '| file | kind | text | what goes wrong | first test that fails |',
    '|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

function packageOf({ file }: Outcome): string {
  return file.split('/')[1] as string;
}

function figures(outcomes: readonly Outcome[]): string {
  const killed = killedCount(outcomes);
  const seconds = outcomes.reduce((sum, outcome) => sum + outcome.seconds, 0);
  const share = `${((100 * killed) / outcomes.length).toFixed(1)} %`;
  return [outcomes.length, killed, share, Math.round(seconds)].join(' | ');
}

function short(text: string): string {
  return text.replace(/^packages\//, '').replace(/^([\w-]+)\/(src|test)\//, '$1 ');
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}
