/** The command as an installation gives it: `lowbit-kv` of a folder's `node_modules/.bin`. */
import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { COMMAND_ARGUMENTS, COMMAND_ENVIRONMENT } from './command.js';
import type { CliResult } from './run-cli.js';

/** For `npx --no-install lowbit-kv` in a folder, and for `lowbit-kv` with the PATH that is returned. */
export function installCommand(directory: string): string {
  const folder = join(directory, 'node_modules', '.bin');
  mkdirSync(folder, { recursive: true });
  const quoted = [process.execPath, ...COMMAND_ARGUMENTS].map((word) => `'${word}'`).join(' ');
  const file = join(folder, 'lowbit-kv');
  writeFileSync(file, `#!/bin/sh\nexec ${quoted} "$@"\n`);
  chmodSync(file, 0o755);
  return [folder, process.env.PATH ?? ''].join(delimiter);
}

/** Runs a program as a cluster would: with its environment alone, in a directory. */
export function runProgram(
  program: string,
  args: readonly string[],
  directory: string,
  environment: Readonly<Record<string, string>>,
): Promise<CliResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: directory,
      env: { PATH: process.env.PATH, HOME: directory, ...COMMAND_ENVIRONMENT, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const)
      child[name].setEncoding('utf8').on('data', (text: string) => {
        output[name] += text;
      });
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, ...output }));
  });
}
