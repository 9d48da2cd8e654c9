/** Runs the command in this process, with streams that keep what is written. Quicker than a child process. */
import { run, Terminal } from '../../src/index.js';
import { Interrupted } from '../../src/terminal.js';
import { TEST_CACHE } from './test-cache.js';

export interface HereOptions {
  readonly directory?: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** Both streams say that they are terminals. */
  readonly isTTY?: boolean;
  /** Whether the user presses Ctrl-C, asked at each write. */
  readonly interruptAt?: (text: string, stream: 'stdout' | 'stderr') => boolean;
}

export interface HereResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** What each write to stdout wrote. */
  readonly pieces: readonly string[];
}

export async function runHere(
  args: readonly string[],
  options: HereOptions = {},
): Promise<HereResult> {
  const written = { stdout: [] as string[], stderr: [] as string[] };
  const controller = new AbortController();
  const stream = (name: 'stdout' | 'stderr') => ({
    isTTY: options.isTTY ?? false,
    write: (text: string) => {
      written[name].push(text);
      if (options.interruptAt?.(text, name)) controller.abort(new Interrupted());
    },
  });
  const terminal = new Terminal({
    stdout: stream('stdout'),
    stderr: stream('stderr'),
    environment: { ...TEST_CACHE, ...options.environment },
    directory: options.directory ?? '.',
    interruption: () => controller.signal,
  });
  const code = await run(args, terminal);
  const [stdout, stderr] = [written.stdout.join(''), written.stderr.join('')];
  return { code, stdout, stderr, pieces: written.stdout };
}
