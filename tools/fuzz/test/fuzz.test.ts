// A share of the fuzzing for every change: mutants of a seed that is another one each day, and everything that once found
// something.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { corpus } from '../src/corpus.js';
import { judge } from '../src/judge.js';
import { Random } from '../src/random.js';
import { runJobs } from '../src/runner.js';
import type { OpenTarget } from '../src/target.js';
import { TARGETS, targetOf } from '../src/targets/index.js';
import { BYTES, FAULTY_BYTE, planted } from '../src/targets/planted.js';

/** Days since 1970: another seed each day, and the same one in a second run. */
const today = () => Math.floor(Date.now() / 86_400_000);

/** As many mutants as come in this time, but never fewer than the minimum. */
const SHARE = { count: 100_000, minimum: 50, seconds: 0.5 };

it('finds nothing in a share of every format', { timeout: 300_000 }, async () => {
  const seed = Number(process.env.LOWBIT_KV_FUZZ_SEED ?? today());
  // Before the run: whatever ends it, the seed is there.
  process.stderr.write(`fuzz seed ${seed}\n`);
  const outcomes = await runJobs(TARGETS.map(({ name }) => ({ target: name, seed, ...SHARE })));
  const finds = outcomes.flatMap(({ job, finds: all }) =>
    all.map(({ index, problem }) => {
      return `${problem} (pnpm fuzz --target ${job.target} --seed ${seed} --index ${index})`;
    }),
  );
  expect(finds).toEqual([]);
  for (const { job, end, refused, accepted } of outcomes) {
    process.stderr.write(`${job.target}: ${end}, ${refused} coded errors\n`);
    expect(end, job.target).toBeGreaterThanOrEqual(SHARE.minimum);
    expect(refused + accepted, job.target).toBe(end);
    // Both ways out are really taken; of few mutants all may go one way.
    if (end >= 500) expect(Math.min(refused, accepted), job.target).toBeGreaterThan(0);
  }
});

const withCorpus = TARGETS.map((target) => {
  return { ...target, kept: corpus().filter((mutant) => mutant.target === target.name) };
}).filter(({ kept }) => kept.length > 0);

describe.each(withCorpus)('$name', ({ kept, ...target }) => {
  let opened: OpenTarget;
  beforeAll(async () => {
    opened = await target.open();
  });
  afterAll(() => opened?.close?.());

  it.each(kept)('mutant $name finds nothing any more', async ({ bytes }) => {
    const ending = await judge(target, opened, bytes);
    expect(ending).not.toMatchObject({ kind: 'find' });
  });
});

it('every folder of the corpus belongs to a format', () => {
  const names = TARGETS.map(({ name }) => name);
  expect(corpus().filter(({ target }) => !names.includes(target))).toEqual([]);
});

describe('a planted fault', () => {
  const COUNT = 10;
  const facesOf = (seed: number) => {
    const bytes = Array.from({ length: COUNT }, (_, i) => new Random(seed, i).below(BYTES));
    return bytes.flatMap((byte, i) => (byte === FAULTY_BYTE ? [i] : []));
  };
  const seed = Array.from({ length: 100 }, (_, i) => i).find((s) => facesOf(s).length === 1) ?? 0;
  const problems: Readonly<Record<string, RegExp>> = {
    'planted-type-error': /TypeError without a code: Cannot read/,
    'planted-wrong-answer': /wrong answer: 2 \+ 2 = 5/,
    'planted-other-code': /code STEP_STATE: /,
    'planted-pollution': /prototype pollution: Object.prototype got polluted/,
    'planted-memory': /1 bytes made it allocate \d{9}/,
    'planted-slow': /it took \d\.\d s/,
    'planted-endless': /it does not end within 3 s/,
    'planted-out-of-memory': /it runs out of memory/,
    'planted-exit': /the process ends with 9/,
  };

  it('is seen, and only it; those behind it run', { timeout: 120_000 }, async () => {
    expect(Object.keys(problems)).toEqual(planted.map(({ name }) => name));
    const job = { seed, count: COUNT, minimum: COUNT, seconds: 0 };
    const jobs = planted.map(({ name }) => ({ target: name, ...job }));
    const isEndless = ({ target }: { readonly target: string }) => target === 'planted-endless';
    // Only what never ends is waited for: a loaded machine takes seconds to run out of memory.
    const outcomes = [
      ...(await runJobs(jobs.filter(isEndless), 3)),
      ...(await runJobs(jobs.filter((one) => !isEndless(one)))),
    ];
    expect(outcomes).toHaveLength(jobs.length);
    for (const { job: done, finds, end, refused, accepted } of outcomes) {
      const name = done.target;
      expect(finds, name).toEqual([
        expect.objectContaining({
          index: facesOf(seed)[0],
          problem: expect.stringMatching(problems[name] as RegExp),
        }),
      ]);
      expect({ name, end, others: refused + accepted }).toEqual({
        ...{ name, end: COUNT, others: COUNT - 1 },
      });
    }
  });
});

it('draws the same mutants again, and others of another seed', async () => {
  for (const { name } of TARGETS.filter(({ name: one }) => one !== 'report')) {
    const opened = await targetOf(name).open();
    const drawn = (seed: number) =>
      Array.from({ length: 5 }, (_, i) => {
        return Buffer.from(opened.mutant(new Random(seed, i))).toString('base64');
      });
    expect(drawn(1), name).toEqual(drawn(1));
    expect(drawn(1), name).not.toEqual(drawn(2));
    await opened.close?.();
  }
});
