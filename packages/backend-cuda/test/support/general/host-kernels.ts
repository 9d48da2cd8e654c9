/**
 * The general packing kernels for the fake driver, compiled with the C++ compiler of this machine: addresses of a job become those
 * of the memory behind them.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import koffi from 'koffi';
import { GENERAL_JOB, GENERAL_PACK_KERNELS, GENERAL_TENSOR } from '../../../src/general/structs.js';
import type { DeviceAccess, FakeKernel } from '../fake/kernels.js';
import { compiler, kernelFolder } from '../pack/host-program.js';

export interface HostKernels {
  readonly kernels: readonly FakeKernel[];
  remove(): void;
}

type HostFunction = (parameters: BigUint64Array, x: number, y: number, z: number) => void;

const source = fileURLToPath(new URL('./host.cpp', import.meta.url));
/** Pointers of a job: the table, pages, rows of both kinds, statistics, numbers of the tensor, scratch, fault. */
const POINTERS = [
  ...[0, 16, 24, 32, 40].map((offset) => GENERAL_JOB.fields.commands + offset),
  GENERAL_JOB.fields.tensor + GENERAL_TENSOR.fields.table,
  GENERAL_JOB.fields.scratch,
  GENERAL_JOB.fields.fault,
];

/** `kernels`: the folder of the headers. */
export function buildHostKernels(kernels = kernelFolder): HostKernels {
  const folder = mkdtempSync(join(tmpdir(), 'lowbit-kv-general-'));
  const path = join(folder, 'kernels.so');
  const flags = ['-std=c++20', '-O1', '-ffp-contract=off', '-Wall', '-Wextra', '-Werror'];
  const args = [...flags, '-fPIC', '-shared', `-I${kernels}`, '-o', path, source];
  const { status, stderr } = spawnSync(compiler as string, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${compiler} failed:\n${stderr}`);
  const library = koffi.load(path);
  return {
    kernels: GENERAL_PACK_KERNELS.map((name) => {
      const types = ['void *', 'uint32', 'uint32', 'uint32'];
      const run = library.func(`${name}_host`, 'void', types) as unknown as HostFunction;
      return kernelOf(name, run);
    }),
    remove() {
      library.unload();
      rmSync(folder, { recursive: true });
    },
  };
}

function kernelOf(name: string, run: HostFunction): FakeKernel {
  return {
    name,
    parameters: [{ bytes: GENERAL_JOB.bytes }],
    run({ grid, parameters, memory }) {
      const job = new DataView(parameters.bytes(0).buffer.slice(0) as ArrayBuffer);
      for (const offset of POINTERS) {
        const pointer = job.getBigUint64(offset, true);
        if (pointer !== 0n) job.setBigUint64(offset, hostAddress(memory, pointer), true);
      }
      run(BigUint64Array.of(BigInt(koffi.address(job.buffer))), ...grid);
    },
  };
}

function hostAddress(memory: DeviceAccess, pointer: bigint): bigint {
  const { buffer, byteOffset } = memory.at(Uint8Array, pointer, 1);
  return BigInt(koffi.address(buffer)) + BigInt(byteOffset);
}
