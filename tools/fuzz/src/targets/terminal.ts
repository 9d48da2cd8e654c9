/**
 * The command line in this process. What it says of an error without a code becomes an error again.
 */
import { type ErrorCode, LowbitKvError } from '@lowbit-kv/core';
import { run, Terminal } from 'lowbit-kv';
import { mustHold } from '../target.js';

/** Exit codes: 0 ok, 1 failure, 2 the command line is wrong, 3 a gate failed. */
const ENDS = [0, 1, 2, 3];

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
}

/** Throws a LowbitKvError with the code that was printed, or an Error for one without. */
export async function runCommand(
  args: readonly string[],
  directory: string,
): Promise<CommandResult> {
  const written = { stdout: '', stderr: '' };
  const stream = (name: 'stdout' | 'stderr') => ({
    isTTY: false,
    write: (text: string) => {
      written[name] += text;
    },
  });
  const terminal = new Terminal({
    stdout: stream('stdout'),
    stderr: stream('stderr'),
    environment: { LOWBIT_KV_LOG: 'debug' },
    directory,
    interruption: () => new AbortController().signal,
  });
  const code = await run(args, terminal);
  mustHold(ENDS.includes(code), `exit code ${code}`);
  const { stdout, stderr } = written;
  mustHold(code === 0 || code === 3 || stderr.trim() !== '', 'a failure that says nothing');
  const [, known] = /^error ([A-Z_]+):/m.exec(stderr) ?? [];
  if (known !== undefined)
    throw new LowbitKvError(known as ErrorCode, { message: stderr.slice(0, 200), next: 'See it.' });
  if (/^error: (?!(unknown|option|required|missing|too many|command-argument) )/m.test(stderr))
    throw new Error(stderr);
  return { code, stdout };
}
