// Results, kept from run to run: JSON for programs, a table for people.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot, type Target } from './mutant.js';
import type { Outcome } from './outcomes.js';

/** The share of mutants that must be killed. */
export const leastKilled = 0.95;
const path = join(repositoryRoot, 'tools/mutation/results/mutation');

/** How a run was made. */
export interface Run {
  readonly date: string;
  readonly command: string;
  /** As `copiedCommit` says. */
  readonly commit: string;
  readonly machine: string;
  readonly loadAverage: number;
  readonly mutants: number;
  readonly seconds: number;
}

export interface Results {
  readonly runs: readonly Run[];
  /** At most one for each mutant: the last. `run` is an index into `runs`. */
  readonly outcomes: readonly (Outcome & { readonly run: number })[];
}

export function readResults(): Results {
  if (!existsSync(`${path}.json`)) return { runs: [], outcomes: [] };
  return JSON.parse(readFileSync(`${path}.json`, 'utf8')) as Results;
}

/** The results with those of one more run, in the order of the mutants; mutants that are gone are left out. */
export function withRun(
  results: Results,
  run: Run,
  outcomes: readonly Outcome[],
  targets: readonly Target[],
): Results {
  const latest = new Map<string, Results['outcomes'][number]>();
  for (const outcome of results.outcomes) latest.set(keyOf(outcome.file, outcome), outcome);
  const runs = [...results.runs, run];
  for (const outcome of outcomes)
    latest.set(keyOf(outcome.file, outcome), { ...outcome, run: runs.length - 1 });
  const ordered = targets.flatMap(({ file, mutants }) =>
    mutants.flatMap((mutant) => {
      const outcome = latest.get(keyOf(file, mutant));
      // What was said about the mutant may have changed since.
      return outcome === undefined ? [] : [{ ...withoutReason(outcome), ...mutant }];
    }),
  );
  const used = [...new Set(ordered.map((outcome) => outcome.run))].sort((a, b) => a - b);
  return {
    runs: used.map((index) => runs[index] as Run),
    outcomes: ordered.map((outcome) => ({ ...outcome, run: used.indexOf(outcome.run) })),
  };
}

function withoutReason<T extends Outcome>({ equivalent: _, ...outcome }: T): Omit<T, 'equivalent'> {
  return outcome;
}

function keyOf(file: string, { find, replace }: Pick<Outcome, 'find' | 'replace'>): string {
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

/** Writes both files and returns the path of the table. */
export function writeResults(results: Results, targets: readonly Target[]): string {
  writeFileSync(`${path}.json`, `${JSON.stringify(results, null, 2)}\n`);
  writeFileSync(`${path}.md`, table(results, targets));
  return `${path}.md`;
}

function table({ runs, outcomes }: Results, targets: readonly Target[]): string {
  const killed = killedCount(outcomes);
  const share = ((100 * killed) / outcomes.length).toFixed(1);
  const missing = targets.flatMap(({ mutants }) => mutants).length - outcomes.length;
  const facts = runs.map(
    ({ date, command, commit, machine, loadAverage, mutants, seconds }, index) =>
      `| ${index} | ${date} | \`${command}\` | ${commit} | ${machine} | ${loadAverage} | ${mutants} | ${seconds} |`,
  );
  const rows = outcomes.map(({ run, file, kind, find, why, killedBy, equivalent }) => {
    const verdict = killedBy ?? `**survived**: ${equivalent ?? 'not explained'}`;
    return `| ${run} | ${file} | ${kind} | \`${cell(find)}\` | ${why} | ${cell(verdict)} |`;
  });
  return [
    '# Mutation check',
    '',
    `**${killed} of ${outcomes.length} mutants killed (${share} %)${missing > 0 ? `; ${missing} more were not run` : ''}.** Each is one wrong token in packages/core/src; the tests are core's own.`,
    '',
    '| run | date | command | commit | machine | load | mutants | seconds |',
    '|---|---|---|---|---|---|---|---|',
    ...facts,
    '',
    '| run | file | kind | text | what goes wrong | first test that fails |',
    '|---|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

function cell(text: string): string {
  return text.replace('packages/core/test/', '').replaceAll('|', '\\|').replaceAll('\n', ' ');
}
