/**
 * Random programs as checks of the contract suite: bounded by time, from a seed that failures name.
 */
import * as fc from 'fast-check';
import type { Backend } from '../backend.js';
import { type ContractCheck, ContractFailure, check, ensure } from '../contract/check.js';
import type { AttentionTolerances } from '../contract/tolerances.js';
import { type Command, programs } from './commands.js';
import { type FaultKind, FaultyBackend } from './faulty-backend.js';
import { Tally } from './pair.js';
import { type RunOptions, runProgram } from './runner.js';
import { type Setup, setups } from './setups.js';

export interface ProgramOptions {
  /** Of attention against float64 attention over the decoded cache. Default: `DECODED_ATTENTION`. */
  readonly tolerances?: AttentionTolerances;
  /** Programs and plans follow from it. Default: another one every time, which failures name. */
  readonly seed?: number;
  /** Programs begin for so long. Default 5. */
  readonly seconds?: number;
  /** Programs that run also when the time is over. Default 10. */
  readonly minimum?: number;
  /** Operations of the longest program. Default 30. */
  readonly longest?: number;
  /** What of a result is printed. Default: one line with the seed and the counts, by `console.info`. */
  readonly print?: (line: string) => void;
}

/** Programs that `fast-check` draws, and shrinks, together. */
const ROUND = 4;
/** A counterexample is made smaller for so long. */
const SHRINKING_MS = 60_000;

/** Random programs, and the same with a fault at some call. */
export function programChecks(backend: Backend, options: ProgramOptions = {}): ContractCheck[] {
  return [
    check('random programs behave like the model', () => runRounds(backend, options, false)),
    check('random programs with faults leave what the model says', () =>
      runRounds(backend, options, true),
    ),
  ];
}

export interface FaultyProgram {
  readonly setup: Setup;
  readonly program: readonly Command[];
  readonly fault: { readonly call: number; readonly kind: FaultKind };
}

const faults = fc.record({
  call: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 400 })),
  kind: fc.constantFrom('before' as const, 'after' as const, 'lost' as const),
});

/**
 * A program whose backend fails at one call. Throws a ContractFailure when the error says too little, something has changed that
 * the failed operation does not own up to, or a store is left. Gives how many calls there were.
 */
export async function runWithFault(
  backend: Backend,
  { setup, program, fault }: FaultyProgram,
  options: RunOptions = {},
): Promise<number> {
  const faulty = new FaultyBackend(backend);
  faulty.arm(fault.call, fault.kind);
  const isFault = (error: unknown) => faulty.isFault(error);
  try {
    await runProgram(faulty.backend, setup, program, { ...options, isFault });
  } catch (error) {
    // What is lost stays lost: the program ends with the fault that it cannot get past.
    if (fault.kind !== 'lost' || !isFault(error)) throw error;
    options.tally?.add('programs');
  }
  options.tally?.add(`faults put in (${fault.kind})`, Math.min(faulty.injected, 1));
  ensure(faulty.alive === 0, `${faulty.alive} stores were not disposed`);
  return faulty.calls;
}

export interface RoundOptions {
  readonly tolerances?: AttentionTolerances;
  /** Operations of the longest program. Default 30. */
  readonly longest?: number;
  /** Plans to choose from. Default: any, a new one for every program. */
  readonly setups?: readonly Setup[];
  /** With a fault at some call of each program. Default false. */
  readonly faults?: boolean;
  /** Whether to look for the smallest program that fails. Default true. */
  readonly shrink?: boolean;
}

/** A few programs that follow from a seed. Throws a ContractFailure with the smallest program found that fails. */
export async function runRound(
  backend: Backend,
  seed: number,
  tally: Tally,
  options: RoundOptions = {},
): Promise<void> {
  const any = options.setups === undefined ? setups : fc.constantFrom(...options.setups);
  const drawn = {
    setup: any.filter(({ plan }) => backend.supports(plan).kind !== 'refused'),
    program: programs(options.longest),
  };
  const run = { ...options, tally };
  const property =
    options.faults === true
      ? fc.asyncProperty(fc.record({ ...drawn, fault: faults }), async (value) => {
          await runWithFault(backend, value, run);
        })
      : fc.asyncProperty(fc.record(drawn), ({ setup, program }) =>
          runProgram(backend, setup, program, run),
        );
  const result = await fc.check<[unknown]>(property as fc.IAsyncProperty<[unknown]>, {
    seed,
    numRuns: ROUND,
    interruptAfterTimeLimit: SHRINKING_MS,
    endOnFailure: options.shrink === false,
  });
  if (!result.failed) return;
  const { errorInstance: cause } = result;
  const report = fc.defaultReportMessage(result);
  throw new ContractFailure(`backend ${backend.id}, seed ${seed}: ${cause}\n${report}`, { cause });
}

async function runRounds(
  backend: Backend,
  options: ProgramOptions,
  faults: boolean,
): Promise<void> {
  const { seconds = 5, minimum = 10, print = console.info } = options;
  const seed = options.seed ?? Date.now() % 2 ** 31;
  const tally = new Tally();
  const begin = performance.now();
  const elapsed = () => (performance.now() - begin) / 1000;
  for (let round = 0; elapsed() < seconds || tally.of('programs') < minimum; round++)
    await runRound(backend, seed + round, tally, { ...options, faults });
  const what = `random programs${faults ? ' with faults' : ''} on ${backend.id}`;
  print(`${what}: seed ${seed}, ${elapsed().toFixed(1)} s: ${tally}`);
}
