/**
 * Builds fake libraries with the C compiler of this machine.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const FAKE_CUDA = './fake-cuda.c';

/** Undefined where no C compiler is installed. */
export const compiler = ['cc', 'gcc', 'clang'].find(
  (name) => spawnSync(name, ['--version']).status === 0,
);

/** cuda.h of an installed toolkit. */
export const cudaHeader = [
  process.env.CUDA_HOME,
  process.env.CUDA_PATH,
  '/usr/local/cuda',
  '/usr/local/cuda-13.0',
  '/usr',
]
  .flatMap((root) => (root === undefined ? [] : [join(root, 'include/cuda.h')]))
  .find((path) => existsSync(path));

/** `file`: beside this one. */
export function compile(args: readonly string[], file = FAKE_CUDA): void {
  const source = fileURLToPath(new URL(file, import.meta.url));
  const { status, stderr } = spawnSync(compiler!, ['-Wall', '-Werror', ...args, source], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`${compiler} failed:\n${stderr}`);
}

/** A folder with a library, for one test file. */
export function buildFakeLibrary(
  name = 'libcuda.so.1',
  file = FAKE_CUDA,
): { folder: string; library: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'lowbit-kv-fake-library-'));
  const library = join(folder, name);
  compile(['-shared', '-fPIC', '-O1', '-o', library], file);
  return { folder, library, remove: () => rmSync(folder, { recursive: true }) };
}
