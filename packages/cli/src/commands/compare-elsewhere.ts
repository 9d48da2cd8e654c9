/**
 * Runs part of a long comparison in a second process of this command, so that both cores of a small machine work.
 */
import { spawn } from 'node:child_process';
import { LowbitKvError } from '@lowbit-kv/core';
import { type CompareReport, compareReportSchema } from '@lowbit-kv/harness';
import type { Terminal } from '../terminal.js';

export interface ComparePart {
  readonly report: Promise<CompareReport>;
  /** Ends the process when it still runs. */
  stop(): void;
}

/** `compare --json` with these arguments. The report fails with MEASUREMENT_INVALID when the process gives none. */
export function compareElsewhere(
  self: readonly string[],
  args: readonly string[],
  terminal: Terminal,
): ComparePart {
  const [command, ...prefix] = self as [string, ...string[]];
  // What the file and the environment say is in the arguments already.
  const child = spawn(command, [...prefix, 'compare', '--no-config-file', '--json', ...args], {
    cwd: terminal.directory,
    env: withoutOptions(terminal.environment),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output: string[] = [];
  const errors: string[] = [];
  child.stdout.setEncoding('utf8').on('data', (text: string) => output.push(text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => errors.push(text));
  const report = new Promise<CompareReport>((resolve, reject) => {
    const fail = (reason: string) =>
      reject(
        new LowbitKvError('MEASUREMENT_INVALID', {
          message: `the second process of the comparison failed: ${reason}`,
          value: errors.join('').trim(),
          valid: 'a report',
          next: 'Run the schemes one by one with --scheme to see which fails.',
        }),
      );
    child.on('error', ({ message }) => fail(message));
    child.on('close', (code, signal) => {
      // A failed self-check ends with 1 too, and has a report that says so.
      try {
        resolve(compareReportSchema.parse(JSON.parse(output.join(''))));
      } catch {
        fail(`no report, ${signal === null ? `exit code ${code}` : `signal ${signal}`}`);
      }
    });
  });
  // Awaited later: a failure of this process may come first.
  report.catch(() => undefined);
  return { report, stop: () => void child.kill() };
}

/** The environment without variables of options. */
function withoutOptions(environment: Terminal['environment']): Terminal['environment'] {
  const kept = Object.entries(environment).filter(
    ([name]) => name === 'LOWBIT_KV_LOG' || !name.startsWith('LOWBIT_KV_'),
  );
  return Object.fromEntries(kept);
}
