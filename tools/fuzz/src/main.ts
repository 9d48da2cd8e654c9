// `pnpm fuzz [--target NAME] [--count 10000] [--seed N] [--index I]`: runs mutants of every format, or of one, prints what
// they found, and keeps the first mutant of every find in the corpus. With --index, that mutant alone, in this process.
import { parseArgs } from 'node:util';
import { keep } from './corpus.js';
import { judge } from './judge.js';
import type { Find } from './protocol.js';
import { Random } from './random.js';
import { type Outcome, runJobs } from './runner.js';
import { TARGETS, targetOf } from './targets/index.js';

const { values } = parseArgs({
  options: {
    target: { type: 'string', multiple: true },
    count: { type: 'string', default: '10000' },
    seed: { type: 'string', default: `${Date.now() % 2 ** 31}` },
    index: { type: 'string' },
  },
});
const HEADINGS = ['format', 'mutants', 'seconds', 'coded errors', 'accepted', 'finds'];
const names = values.target ?? TARGETS.map(({ name }) => name);
const [count, seed] = [wholeNumber(values.count, 'count'), wholeNumber(values.seed, 'seed')];
console.log(`seed ${seed}`);
if (values.index !== undefined) await runOne(wholeNumber(values.index, 'index'));
else await runAll();

function wholeNumber(text: string, option: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new Error(`--${option} takes a whole number, not ${text}`);
}

async function runAll(): Promise<void> {
  const whole = { seed, count, minimum: count, seconds: 0 };
  let found = 0;
  const rows: string[][] = [];
  for (const target of names) {
    const [outcome] = await runJobs([{ target: targetOf(target).name, ...whole }]);
    if (outcome === undefined) continue;
    for (const [find, times] of firsts(outcome.finds)) {
      found++;
      console.log(`${target}: ${find.problem}`);
      console.log(
        `  ${times} mutants; pnpm fuzz --target ${target} --seed ${seed} --index ${find.index}`,
      );
      console.log(`  ${await kept(target, find)}`);
    }
    rows.push(rowOf(outcome));
    console.log(rows.at(-1)?.join(' '));
  }
  console.log(`| ${HEADINGS.join(' | ')} |\n|${HEADINGS.map(() => ' --- |').join('')}`);
  for (const row of rows) console.log(`| ${row.join(' | ')} |`);
  if (found > 0) process.exitCode = 1;
}

function rowOf({ job, end, seconds, refused, accepted, finds }: Outcome): string[] {
  const figures = [end, Math.round(seconds), refused, accepted, finds.length];
  return [job.target, ...figures.map(String)];
}

/** The first find of every signature, and how many there are of it. */
function firsts(finds: readonly Find[]): [Find, number][] {
  const groups = new Map<string, [Find, number]>();
  for (const find of finds) {
    const [first, times] = groups.get(find.signature) ?? [find, 0];
    groups.set(find.signature, [first, times + 1]);
  }
  return [...groups.values()];
}

async function mutantOf(target: string, index: number): Promise<Uint8Array> {
  const opened = await targetOf(target).open();
  const mutant = opened.mutant(new Random(seed, index));
  await opened.close?.();
  return mutant;
}

async function kept(target: string, { index }: Find): Promise<string> {
  return keep(target, await mutantOf(target, index)) ?? 'too long for the corpus';
}

/** Without the child: an error has its stack, a debugger its breakpoints. */
async function runOne(index: number): Promise<void> {
  for (const name of names) {
    const target = targetOf(name);
    const opened = await target.open();
    const mutant = opened.mutant(new Random(seed, index));
    console.log(
      `${name}: ${mutant.length} bytes: ${JSON.stringify(Buffer.from(mutant).toString('latin1').slice(0, 1000))}`,
    );
    await opened.check(Uint8Array.from(mutant)).catch((error: unknown) => console.log(error));
    console.log(await judge(target, opened, mutant));
    await opened.close?.();
  }
}
