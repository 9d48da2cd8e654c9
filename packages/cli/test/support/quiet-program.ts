/** The commands with their options, on a terminal that nobody sees. */
import { Terminal } from '../../src/index.js';
import { createProgram } from '../../src/program.js';

export function quietProgram(): ReturnType<typeof createProgram> {
  const stream = { write: () => true };
  const options = { stdout: stream, stderr: stream, environment: {}, directory: '.' };
  return createProgram(new Terminal(options), () => undefined);
}
