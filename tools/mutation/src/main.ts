// `pnpm mutate [text ...]`: every mutant, or those that have every text in their file, kind or source text.

import { mutate, readSource, testFolder } from './mutant.js';
import { type Outcome, outcomeOf } from './outcomes.js';
import { faults, writeReport } from './report.js';
import { makeScratch } from './scratch.js';
import { Suite } from './suite.js';
import { targets } from './targets.js';

// A loaded machine is ten times slower than an idle one; a loop that never ends is slower still.
const limits = { likely: 300, whole: 3600 };

const texts = process.argv.slice(2);
const chosen = targets.flatMap((target) =>
  target.mutants
    .filter((mutant) =>
      texts.every((text) => `${target.file} ${mutant.kind} ${mutant.find}`.includes(text)),
    )
    .map((mutant) => ({ target, mutant })),
);
const start = performance.now();
const scratch = makeScratch();
const suite = new Suite(scratch.root);
const outcomes: Outcome[] = [];
let passed: number;
try {
  for (const { target, mutant } of chosen)
    mutate(readSource(scratch.root, target), mutant, target.file);
  passed = await checkUnbroken();
  for (const [index, { target, mutant }] of chosen.entries()) {
    const outcome = await outcomeOf(suite, scratch.root, target, mutant, limits);
    outcomes.push(outcome);
    const verdict = outcome.killedBy === null ? 'SURVIVED' : 'killed  ';
    const place = `${index + 1}/${chosen.length} ${target.file} ${mutant.kind}`;
    console.log(`${verdict} ${outcome.seconds.toFixed(1)} s ${place}: ${mutant.why}`);
  }
  // A mutant that stayed behind would have killed those after it.
  await checkUnbroken();
} finally {
  suite.stop();
  scratch.remove();
}
const seconds = (performance.now() - start) / 1000;
if (texts.length === 0) console.log(writeReport(outcomes, { seconds, passed }));
const found = faults(outcomes);
for (const fault of found) console.error(fault);
if (found.length > 0) process.exitCode = 1;

/** Nothing can be learnt from tests that fail, or do not run, without a mutant. Returns how many there are. */
async function checkUnbroken(): Promise<number> {
  const likely = new Set(chosen.flatMap(({ target }) => target.tests));
  const files = [...likely].map((test) => `${testFolder}/${test}`);
  const answer = await suite.run(files, limits.whole);
  const failed = answer === null ? 'timeout' : (answer.failed ?? answer.errors[0]);
  if (failed !== undefined && failed !== null)
    throw new Error(`a test fails without a mutant: ${failed}`);
  for (const { file, seconds } of answer?.files ?? [])
    console.log(`${seconds.toFixed(1)} s ${file}`);
  return answer?.passed ?? 0;
}
