/** Runs the command in this process, with streams that keep what is written. Quicker than a child process. */
import { run, Terminal } from '../../src/index.js';

export async function runHere(
  args: readonly string[],
  options: { readonly directory?: string } = {},
): Promise<{ code: number; stdout: string; stderr: string }> {
  const written = { stdout: '', stderr: '' };
  const stream = (name: 'stdout' | 'stderr') => ({
    write: (text: string) => {
      written[name] += text;
    },
  });
  const terminal = new Terminal({
    stdout: stream('stdout'),
    stderr: stream('stderr'),
    environment: {},
    directory: options.directory ?? '.',
  });
  return { code: await run(args, terminal), ...written };
}
