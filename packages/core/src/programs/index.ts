/**
 * Public entry of @lowbit-kv/core/programs: random programs on random plans, run on a backend and on a model that keeps plain
 * arrays. Needs fast-check, and vitest for `describePrograms`.
 */
import { describe } from 'vitest';
import type { Backend } from '../backend.js';
import { register } from '../contract/register.js';
import { type ProgramOptions, programChecks } from './checks.js';

export {
  type FaultyProgram,
  type ProgramOptions,
  programChecks,
  type RoundOptions,
  runRound,
  runWithFault,
} from './checks.js';
export { type Command, programs } from './commands.js';
export { type FaultKind, FaultyBackend } from './faulty-backend.js';
export { fixedProgram, fixedSetup } from './fixed-program.js';
export { Tally } from './pair.js';
export { type RunOptions, runProgram } from './runner.js';
export { type Choice, type Setup, setupOf, setups } from './setups.js';

/** Registers the tests of a backend by random programs. */
export function describePrograms(backend: Backend, options: ProgramOptions = {}): void {
  describe(`random programs on backend ${backend.id}`, () =>
    register(programChecks(backend, options)));
}
