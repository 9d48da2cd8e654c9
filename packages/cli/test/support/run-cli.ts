/** Runs the real command in a child process. */
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { COMMAND_ARGUMENTS, COMMAND_ENVIRONMENT } from './command.js';
import { TEST_CACHE } from './test-cache.js';

export interface CliResult {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliOptions {
  readonly directory?: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** Closes the reading end of stdout before anything is written, as a `head` that has seen enough. */
  readonly closedStdout?: boolean;
  /** A file in place of the pipe, whose text is then empty. */
  readonly stdoutFile?: string;
  /** Asked again and again with what stdout has: when it says yes, Ctrl-C is sent, once. */
  readonly interruptWhen?: (stdout: string) => boolean;
  /** What is sent in its place. */
  readonly signal?: NodeJS.Signals;
}

const ASK_MS = 10;

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));

export function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  return new Promise((resolve, reject) => {
    const file = options.stdoutFile === undefined ? undefined : openSync(options.stdoutFile, 'w');
    const child = spawn(process.execPath, [...COMMAND_ARGUMENTS, ...args], {
      cwd: options.directory ?? path('.'),
      env: {
        ...TEST_CACHE,
        ...COMMAND_ENVIRONMENT,
        ...options.environment,
      },
      stdio: ['ignore', file ?? 'pipe', 'pipe'],
    });
    if (file !== undefined) closeSync(file);
    const output = { stdout: '', stderr: '' };
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      output.stdout += text;
    });
    if (options.closedStdout === true) child.stdout?.destroy();
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      output.stderr += text;
    });
    const asking = setInterval(() => {
      if (options.interruptWhen?.(output.stdout) !== true) return;
      clearInterval(asking);
      child.kill(options.signal ?? 'SIGINT');
    }, ASK_MS);
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearInterval(asking);
      resolve({ code, signal, ...output });
    });
  });
}
