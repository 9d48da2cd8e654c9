/**
 * Builds kernels as host programs with the C++ compiler of this machine, and runs them from file to file.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const kernelFolder = fileURLToPath(new URL('../../../kernels', import.meta.url));

/** Undefined where no C++ compiler is installed. */
export const compiler = ['c++', 'g++', 'clang++'].find(
  (name) => spawnSync(name, ['--version']).status === 0,
);

export interface HostProgram {
  /** What the program writes when it reads these bytes. */
  run(input: Uint8Array): Uint8Array;
  remove(): void;
}

/** `source` is a file of this folder; `generated` are files that it includes. */
export function buildHostProgram(
  source: string,
  generated: Readonly<Record<string, string>> = {},
  kernels = kernelFolder,
): HostProgram {
  const folder = mkdtempSync(join(tmpdir(), 'lowbit-kv-host-'));
  for (const [name, text] of Object.entries(generated)) writeFileSync(join(folder, name), text);
  const program = join(folder, 'program');
  const flags = [
    '-std=c++17',
    '-ffp-contract=off',
    '-fno-strict-aliasing',
    '-Wall',
    '-Wextra',
    '-Werror',
  ];
  const main = fileURLToPath(new URL(source, import.meta.url));
  start(compiler as string, [...flags, `-I${kernels}`, `-I${folder}`, '-o', program, main]);
  return {
    run(input) {
      const files = [join(folder, 'input'), join(folder, 'output')] as const;
      writeFileSync(files[0], input);
      start(program, files);
      return readFileSync(files[1]);
    },
    remove: () => rmSync(folder, { recursive: true }),
  };
}

function start(command: string, args: readonly string[]): void {
  const { status, signal, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ended with ${status ?? signal}:\n${stderr}`);
}
