/**
 * Runs a backend for long in one of the modes, and takes samples of memory and handles on the way.
 */
import { runRound, setups, Tally } from '@lowbit-kv/core/programs';
import * as fc from 'fast-check';
import type { OpenedBackend } from './backends.js';
import { Churn } from './churn.js';
import type { SoakOptions } from './options.js';
import { OtherProcess } from './other-process.js';
import { growth, type Sample, takeSample } from './samples.js';

export interface SoakResult {
  readonly operations: number;
  readonly seconds: number;
  readonly tally: Tally;
  readonly samples: readonly Sample[];
  /** What grew or was left; empty when all is well. */
  readonly faults: readonly string[];
}

const SAMPLES = 60;
/** Backends keep pipelines and modules of every plan that they met: drawn plans are without end. */
const REOPEN_AFTER = 1000;

/** Throws at the first difference between cache and model. */
export async function soak(
  open: () => Promise<OpenedBackend>,
  options: Omit<SoakOptions, 'backend' | 'out'>,
  onSample: (sample: Sample, tally: Tally) => void = () => undefined,
): Promise<SoakResult> {
  let opened = await open();
  let reopened = 0;
  const left: string[] = [];
  const tally = new Tally();
  const samples: Sample[] = [];
  const begin = performance.now();
  const seconds = () => (performance.now() - begin) / 1000;
  let operations = 0;
  const sample = () => {
    samples.push(takeSample(seconds(), operations, opened.counts()));
    onSample(samples.at(-1) as Sample, tally);
  };
  let mode = await openMode(opened, options, tally);
  const limit = 60 * options.minutes;
  for (let round = 0; operations < options.operations && seconds() < limit; round++) {
    operations += await mode.round(options.seed + round);
    if (options.mode !== 'churn' && options.plans > 1e6 && operations - reopened >= REOPEN_AFTER) {
      await mode.close();
      left.push(...opened.close());
      opened = await open();
      mode = await openMode(opened, options, tally);
      reopened = operations;
    }
    const done = Math.max(operations / options.operations, seconds() / limit);
    if (done * SAMPLES >= samples.length + 1) sample();
  }
  await mode.close();
  left.push(...opened.close());
  const fixedPlans = options.mode === 'churn';
  const faults = [...growth(samples, fixedPlans), ...left.map((l) => `left: ${l}`)];
  return { operations, seconds: seconds(), tally, samples, faults };
}

interface Mode {
  /** Gives the operations that it did. */
  readonly round: (seed: number) => Promise<number>;
  readonly close: () => Promise<void>;
}

async function openMode(
  { backend }: OpenedBackend,
  { mode, seed, longest, plans }: Pick<SoakOptions, 'mode' | 'seed' | 'longest' | 'plans'>,
  tally: Tally,
): Promise<Mode> {
  if (mode === 'churn') {
    const churn = await Churn.open(backend, seed);
    return { round: () => churn.step(), close: () => churn.close() };
  }
  if (mode === 'processes') {
    const other = new OtherProcess();
    return {
      round: (number) => other.check(backend, number),
      close: async () => other.close(),
    };
  }
  const chosen = plans < 1e6 ? { setups: fc.sample(setups, { seed, numRuns: plans }) } : {};
  return {
    round: async (number) => {
      const before = tally.of('operations');
      await runRound(backend, number, tally, {
        ...chosen,
        longest,
        faults: mode === 'faults',
      });
      return Math.max(tally.of('operations') - before, 1);
    },
    close: async () => undefined,
  };
}
