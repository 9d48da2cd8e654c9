/**
 * The child process that runs mutants: it may hang, run out of memory or crash. Its progress lies in a file, which says after
 * its end which mutant it was at.
 */
import { openSync, writeSync } from 'node:fs';
import { judge } from './judge.js';
import {
  type Job,
  type JobPart,
  type Message,
  PROGRESS_NUMBERS,
  type Request,
} from './protocol.js';
import { Random } from './random.js';
import type { Target } from './target.js';

const request = JSON.parse(process.argv[2] ?? '') as Request;
const file = openSync(request.progressFile, 'r+');
const progress = new Float64Array(PROGRESS_NUMBERS);

// The runner is gone: nobody listens.
const orphaned = () => process.exit(1);
process.once('disconnect', orphaned);
for (const [number, job] of request.jobs.entries()) {
  if (number < request.firstJob) continue;
  const first = number === request.firstJob ? request.firstIndex : 0;
  say({ job: number, part: await runJob(number, job, first) });
}
process.off('disconnect', orphaned);
process.disconnect?.();

async function runJob(number: number, job: Job, first: number): Promise<JobPart> {
  const target = await targetFor(job.target);
  let part: JobPart = { end: -1, refused: 0, accepted: 0, seconds: 0 };
  note(number, part);
  const opened = await target.open();
  const start = performance.now();
  try {
    for (let index = first; index < job.count; index++) {
      part = { ...part, end: index, seconds: (performance.now() - start) / 1000 };
      if (index >= job.minimum && part.seconds > job.seconds) break;
      note(number, part);
      const ending = await judge(target, opened, opened.mutant(new Random(job.seed, index)));
      if (ending.kind !== 'find') part = { ...part, [ending.kind]: part[ending.kind] + 1 };
      else {
        const { problem, signature } = ending;
        say({ job: number, find: { index, problem, signature } });
      }
      part = { ...part, end: index + 1 };
    }
    return { ...part, seconds: (performance.now() - start) / 1000 };
  } finally {
    await opened.close?.();
  }
}

/** Everything that is fuzzed takes seconds to load; what is planted needs none of it. */
async function targetFor(name: string): Promise<Target> {
  const { planted } = await import('./targets/planted.js');
  const found = planted.find((target) => target.name === name);
  return found ?? (await import('./targets/index.js')).targetOf(name);
}

function note(number: number, { end, refused, accepted, seconds }: JobPart): void {
  progress.set([number, end, refused, accepted, seconds]);
  writeSync(file, new Uint8Array(progress.buffer), 0, progress.byteLength, 0);
}

function say(message: Message): void {
  process.send?.(message);
}
