// `pnpm mutate [text ...] [--seconds N] [--again]`: mutants without a result for the source as it is, those that have every text
// in their file, kind or source text; --again: all of these. Ends between two mutants after N seconds; the next run goes on.
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { repositoryRoot, sourcePath, type TestChoice } from './mutant.js';
import { firstFailure, outcomeOf } from './outcomes.js';
import {
  faults,
  killedCount,
  leastKilled,
  pendingMutants,
  readResults,
  withOutcome,
  writeResults,
} from './report.js';
import { copiedCommit, copiedTree, makeScratch } from './scratch.js';
import { Suite } from './suite.js';
import { targets } from './targets.js';

/** Seconds that a test file may take: a loaded machine is ten times slower than an idle one, an endless loop slower still. */
const LIMIT = 300;
/** Of the sources, with tests of their own. */
const COPIES = availableParallelism();

const { values, positionals: texts } = parseArgs({
  allowPositionals: true,
  options: { seconds: { type: 'string' }, again: { type: 'boolean', default: false } },
});
const limit = values.seconds === undefined ? Number.POSITIVE_INFINITY : Number(values.seconds);
if (!(limit > 0)) throw new Error(`--seconds takes a positive number, not ${values.seconds}`);

let results = readResults();
const chosen = pendingMutants(results, targets, repositoryRoot, values.again).filter(
  ({ target, mutant }) =>
    texts.every((text) => `${sourcePath(target)} ${mutant.kind} ${mutant.find}`.includes(text)),
);
const commit = copiedCommit();
// Changes that are not committed are others in every run.
const tree = copiedTree() ?? `${commit} ${Date.now()}`;
const start = performance.now();
const isOver = () => (performance.now() - start) / 1000 > limit;
/** By target: a copy of the sources breaks one after another. */
const waiting = [...new Set(chosen.map(({ target }) => target))];
let done = 0;
await Promise.all(Array.from({ length: COPIES }, workThrough));
console.log(writeResults(results, targets));
const pending = pendingMutants(results, targets, repositoryRoot, false).length;
console.log(
  `${results.outcomes.length} mutants, ${killedCount(results.outcomes)} killed, ${pending} still to run`,
);
const found = faults(results.outcomes);
if (killedCount(results.outcomes) < leastKilled * results.outcomes.length)
  found.push(`fewer than ${leastKilled * 100} % are killed`);
for (const fault of found) console.error(fault);
if (found.length > 0) process.exitCode = 1;

/** Targets that wait, until there is none or the time is over. */
async function workThrough(): Promise<void> {
  const scratch = makeScratch();
  const suite = new Suite(scratch.root);
  try {
    for (
      let target = waiting.shift();
      target !== undefined && !isOver();
      target = waiting.shift()
    ) {
      for (const { mutant, source } of chosen.filter((one) => one.target === target)) {
        if (isOver()) return;
        const { outcome, killer } = await outcomeOf(suite, scratch.root, target, mutant, LIMIT);
        if (killer !== null) await checkUnbroken(suite, killer);
        results = withOutcome(results, { ...outcome, source, commit }, targets);
        const verdict = outcome.killedBy === null ? 'SURVIVED' : 'killed  ';
        const place = `${++done}/${chosen.length} ${outcome.file} ${mutant.kind}`;
        console.log(`${verdict} ${outcome.seconds.toFixed(1)} s ${place}: ${mutant.why}`);
        writeResults(results, targets);
      }
    }
  } finally {
    suite.stop();
    scratch.remove();
  }
}

/** A test that fails without a mutant says nothing. Asked of every test that kills, once for what is committed. */
async function checkUnbroken(suite: Suite, choice: TestChoice): Promise<void> {
  const known = results.unbroken.tree === tree ? results.unbroken.tests : [];
  const name = `${choice.files.join()} ${choice.only ?? ''}`;
  if (known.includes(name)) return;
  const failure = await firstFailure(suite, [choice], LIMIT);
  if (failure !== null) throw new Error(`a test fails without a mutant: ${failure.test}`);
  const tests = results.unbroken.tree === tree ? results.unbroken.tests : [];
  results = { ...results, unbroken: { tree, tests: [...new Set([...tests, name])] } };
}
