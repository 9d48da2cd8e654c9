/**
 * The kernel of general attention as a native function of this machine.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import koffi from 'koffi';
import { compiler, kernelFolder } from '../pack/host-program.js';

export interface AttendLibrary {
  /** `parameters`: bytes of each. */
  run(parameters: readonly ArrayBuffer[], grid: readonly [number, number, number]): void;
  remove(): void;
}

const source = fileURLToPath(new URL('./attend-host.cpp', import.meta.url));

/** `isQuick`: of other kernels, built for a few runs. */
export function buildAttendLibrary(kernels = kernelFolder, isQuick = false): AttendLibrary {
  const folder = mkdtempSync(join(tmpdir(), 'lowbit-kv-attend-'));
  const path = join(folder, 'attend.so');
  const flags = ['-std=c++20', '-ffp-contract=off', '-fPIC', '-shared'];
  const effort = isQuick ? ['-O0'] : ['-O2', '-Wall', '-Wextra', '-Werror'];
  const args = [...flags, ...effort, `-I${kernels}`, '-o', path, source];
  const { status, stderr } = spawnSync(compiler as string, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${compiler} failed:\n${stderr}`);
  const library = koffi.load(path);
  const types = ['void *', 'uint32', 'uint32', 'uint32'];
  const run = library.func('general_attend_host', 'void', types);
  return {
    run(parameters, grid) {
      const addresses = parameters.map((buffer) => addressOf(buffer));
      run(BigUint64Array.from(addresses), ...grid);
    },
    remove() {
      library.unload();
      rmSync(folder, { recursive: true });
    },
  };
}

/** Where a buffer is in memory, while it lives. */
export function addressOf(buffer: ArrayBuffer): bigint {
  return BigInt(koffi.address(buffer));
}
