// The result of a run, as JSON for programs and as a table for people.
import { writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { repositoryRoot } from './mutant.js';
import type { Outcome } from './outcomes.js';

/** The share of mutants that must be killed. */
export const leastKilled = 0.95;
const folder = 'tools/mutation/results';

/** What is wrong with a run: too many survivors, one without an explanation, an explanation that is not true. */
export function faults(outcomes: readonly Outcome[]): string[] {
  const result: string[] = [];
  for (const { file, find, killedBy, equivalent } of outcomes) {
    if (killedBy === null && equivalent === undefined)
      result.push(`${file}: survived without an explanation: ${find}`);
    if (killedBy !== null && equivalent !== undefined)
      result.push(`${file}: called equivalent, but killed by ${killedBy}: ${find}`);
  }
  const killed = killedCount(outcomes);
  if (killed < leastKilled * outcomes.length)
    result.push(`${killed} of ${outcomes.length} killed, fewer than ${leastKilled * 100} %`);
  return result;
}

/** Writes both files, named by the day, and returns the path of the table. */
export function writeReport(
  outcomes: readonly Outcome[],
  run: { readonly seconds: number; readonly passed: number },
): string {
  const date = new Date().toISOString().slice(0, 10);
  const path = join(repositoryRoot, folder, `${date}-mutation`);
  const about = {
    date,
    command: 'nice -n 10 pnpm mutate',
    node: process.version,
    machine: `${availableParallelism()} cores, ${cpus()[0]?.model ?? 'unknown'}`,
    loadAverage: loadavg().map((load) => Number(load.toFixed(1))),
    seconds: Math.round(run.seconds),
    testsWithoutMutant: run.passed,
  };
  const counts = { mutants: outcomes.length, killed: killedCount(outcomes) };
  writeFileSync(`${path}.json`, `${JSON.stringify({ ...about, ...counts, outcomes }, null, 2)}\n`);
  writeFileSync(`${path}.md`, table(outcomes, about));
  return `${path}.md`;
}

function killedCount(outcomes: readonly Outcome[]): number {
  return outcomes.filter(({ killedBy }) => killedBy !== null).length;
}

function table(outcomes: readonly Outcome[], about: Readonly<Record<string, unknown>>): string {
  const killed = killedCount(outcomes);
  const share = ((100 * killed) / outcomes.length).toFixed(1);
  const facts = Object.entries(about).map(([name, value]) => `| ${name} | ${value} |`);
  const rows = outcomes.map(({ file, kind, find, why, killedBy, equivalent }) => {
    const verdict = killedBy ?? `**survived**: ${equivalent ?? 'not explained'}`;
    return `| ${file} | ${kind} | ${code(find)} | ${why} | ${cell(verdict)} |`;
  });
  return [
    `# Mutation check, ${about.date}`,
    '',
    `**${killed} of ${outcomes.length} mutants killed (${share} %).** Each is one wrong token in packages/core/src; all tests are core's own.`,
    '',
    '| | |',
    '|---|---|',
    ...facts,
    '',
    '| file | kind | text | what goes wrong | first test that fails |',
    '|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

function cell(text: string): string {
  return text.replace('packages/core/test/', '').replaceAll('|', '\\|').replaceAll('\n', ' ');
}

function code(text: string): string {
  return `\`${cell(text)}\``;
}
