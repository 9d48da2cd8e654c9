// Runs the command from its sources and takes its JSON, its time and its processor time.
import { spawn } from 'node:child_process';
import { cpus } from 'node:os';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const tsx = ['node_modules/tsx/dist/cli.mjs', '--tsconfig', 'tsconfig.base.json'];
const source = ['--conditions', '@lowbit-kv/source', 'packages/cli/src/main.ts'];

/** Node tells no processor time of children; the shell does. */
const TIMED = '"$@"; code=$?; times >&3; exit $code';

export interface Run {
  readonly report: unknown;
  readonly seconds: number;
  /** Of the command and the processes it starts. */
  readonly processorSeconds: number;
}

/** Throws when the command fails or prints no JSON. */
export async function runCommand(args: readonly string[]): Promise<Run> {
  const start = performance.now();
  const command = [process.execPath, ...tsx, ...source, ...args];
  const child = spawn('sh', ['-c', TIMED, 'sh', ...command], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
  });
  const [output, times] = [child.stdio[1], child.stdio[3]].map((stream) => {
    const texts: string[] = [];
    (stream as Readable).setEncoding('utf8').on('data', (text: string) => texts.push(text));
    return texts;
  }) as [string[], string[]];
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  if (code !== 0) throw new Error(`lowbit-kv ${args.join(' ')} ended with ${code}`);
  return {
    report: JSON.parse(output.join('')),
    seconds: (performance.now() - start) / 1000,
    processorSeconds: secondsOfChildren(times.join('')),
  };
}

/** The second line of `times`: user and system time of children, as `1m2.34s 0m0.50s`. */
export function secondsOfChildren(times: string): number {
  const line = times.split('\n')[1] ?? '';
  const parts = [...line.matchAll(/(\d+)m([\d.]+)s/g)];
  if (parts.length !== 2) throw new Error(`unknown output of times: ${JSON.stringify(times)}`);
  return parts.reduce(
    (sum, [, minutes, seconds]) => sum + 60 * Number(minutes) + Number(seconds),
    0,
  );
}

export function machine(): string {
  const [first] = cpus();
  return `${cpus().length} cores of ${first?.model ?? 'an unknown processor'}, Node ${process.versions.node}`;
}
