/**
 * Runs the command line once and says with which code the process ends.
 */
import { CommanderError } from 'commander';
import { createProgram } from './program.js';
import { reportError } from './report-error.js';
import { INTERRUPTED, Interrupted, type Terminal } from './terminal.js';

const FAILURE = 1;
const USAGE = 2;

/** Exit code: 0 ok, 1 failure, 2 the command line is wrong, 3 a gate failed, 130 interrupted. Reports errors itself, never throws. */
export async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  let code = 0;
  const program = createProgram(terminal, (result) => {
    code = result;
  });
  try {
    await program.parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    // Commander has printed already; help and --version come with code 0.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE;
    if (error instanceof Interrupted) {
      terminal.note('Interrupted.');
      return INTERRUPTED;
    }
    reportError(terminal, error);
    return FAILURE;
  } finally {
    terminal.clearStatus();
  }
}
