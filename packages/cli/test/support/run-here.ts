/** Runs the command in this process, with streams that keep what is written. Quicker than a child process. */
import { run, Terminal } from '../../src/index.js';

export interface HereOptions {
  readonly directory?: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** Both streams say that they are terminals. */
  readonly isTTY?: boolean;
}

export async function runHere(
  args: readonly string[],
  options: HereOptions = {},
): Promise<{ code: number; stdout: string; stderr: string }> {
  const written = { stdout: '', stderr: '' };
  const stream = (name: 'stdout' | 'stderr') => ({
    isTTY: options.isTTY ?? false,
    write: (text: string) => {
      written[name] += text;
    },
  });
  const terminal = new Terminal({
    stdout: stream('stdout'),
    stderr: stream('stderr'),
    environment: options.environment ?? {},
    directory: options.directory ?? '.',
  });
  return { code: await run(args, terminal), ...written };
}
