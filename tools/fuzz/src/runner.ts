/**
 * Runs jobs in a child process, and starts another one where a mutant made it hang, crash or run out of memory.
 */
import { fork } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import {
  type Find,
  type Job,
  type JobPart,
  type Message,
  PROGRESS_NUMBERS,
  type Request,
} from './protocol.js';

/** Of the child: files are kilobytes. */
const HEAP_MEGABYTES = 384;
/** A mutant that is not done by then never is. */
const HANG_SECONDS = 15;
/** Of a child, until its first mutant: it loads everything, and makes reports. */
const OPEN_SECONDS = 120;
const LOOK_MILLISECONDS = 500;
/** More deaths than this say nothing new. */
const MOST_DEATHS = 40;

export interface Outcome extends JobPart {
  readonly job: Job;
  readonly finds: readonly Find[];
}

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;

/** In the order of the jobs. Throws where it is the fuzzer that fails. */
export async function runJobs(
  jobs: readonly Job[],
  hangSeconds = HANG_SECONDS,
): Promise<Outcome[]> {
  const folder = mkdtempSync(join(tmpdir(), 'lowbit-kv-fuzz-'));
  const progressFile = join(folder, 'progress');
  const outcomes = jobs.map((job): Outcome => {
    return { job, end: 0, refused: 0, accepted: 0, seconds: 0, finds: [] };
  });
  const take = (message: Message) => {
    const outcome = outcomes[message.job];
    if (outcome === undefined) throw new Error(`no job ${message.job}`);
    outcomes[message.job] =
      'find' in message
        ? { ...outcome, finds: [...outcome.finds, message.find] }
        : { ...outcome, ...sumOf(outcome, message.part) };
  };
  try {
    let place = { firstJob: 0, firstIndex: 0 };
    for (let deaths = 0; ; deaths++) {
      writeFileSync(progressFile, new Uint8Array(notStarted(place.firstJob).buffer));
      const death = await runChild({ jobs, ...place, progressFile }, hangSeconds, take);
      if (death === null) return outcomes;
      const { job, part } = readProgress(progressFile);
      if (part.end < 0 || deaths === MOST_DEATHS) throw new Error(`${jobs[job]?.target}: ${death}`);
      take({ job, find: { index: part.end, problem: death, signature: death } });
      take({ job, part: { ...part, end: part.end + 1 } });
      place = { firstJob: job, firstIndex: part.end + 1 };
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function notStarted(job: number): Float64Array {
  const numbers = new Float64Array(PROGRESS_NUMBERS);
  numbers.set([job, -1]);
  return numbers;
}

function sumOf(a: JobPart, b: JobPart): JobPart {
  return {
    end: Math.max(a.end, b.end),
    refused: a.refused + b.refused,
    accepted: a.accepted + b.accepted,
    seconds: a.seconds + b.seconds,
  };
}

/** Null when all jobs ended, else what ended the child. */
async function runChild(
  request: Request,
  hangSeconds: number,
  take: (message: Message) => void,
): Promise<string | null> {
  const child = fork(here('session.ts'), [JSON.stringify(request)], {
    execArgv: [
      ...[`--max-old-space-size=${HEAP_MEGABYTES}`, '--conditions=@lowbit-kv/source'],
      `--import=${tsx}`,
    ],
    env: { ...process.env, TSX_TSCONFIG_PATH: here('../../../tsconfig.base.json') },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-4000);
  });
  child.on('message', (message) => take(message as Message));
  let hung = false;
  let seen = { text: '', since: performance.now() };
  const looking = setInterval(() => {
    const { job, part } = readProgress(request.progressFile);
    const text = `${job} ${part.end}`;
    if (text !== seen.text) seen = { text, since: performance.now() };
    const limit = part.end < 0 ? OPEN_SECONDS : hangSeconds;
    if (performance.now() - seen.since < 1000 * limit) return;
    hung = true;
    child.kill('SIGKILL');
  }, LOOK_MILLISECONDS);
  const end = await new Promise<string | null>((resolve) => {
    child.on('close', (code, signal) => resolve(code === 0 ? null : `${signal ?? code}`));
  });
  clearInterval(looking);
  if (end === null) return null;
  if (hung) return `it does not end within ${hangSeconds} s`;
  if (/heap out of memory|allocation failed/i.test(said)) return 'it runs out of memory';
  return `the process ends with ${end}: ${said.trim().split('\n').slice(-8).join(' | ')}`;
}

function readProgress(file: string): { readonly job: number; readonly part: JobPart } {
  const bytes = Uint8Array.from(readFileSync(file));
  const [job = 0, end = -1, refused = 0, accepted = 0, seconds = 0] = new Float64Array(
    bytes.buffer,
  );
  return { job, part: { end, refused, accepted, seconds } };
}
