/**
 * Kernels for the fake driver, compiled from kernels/*.cuh with the C++ compiler of this machine. Needs memory with the host's
 * addresses.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import koffi from 'koffi';
import { packPlanText } from '../../../scripts/kernel-sources.js';
import type { ParameterType } from '../../../src/driver/parameter-block.js';
import { PACK_INSTANCES } from '../../../src/instances.js';
import { PACK_JOB } from '../../../src/store/fragment-pages.js';
import { IMPORT_JOB, WRITE_JOB } from '../../../src/store/moves.js';
import type { FakeKernel } from '../fake/kernels.js';
import { compiler, kernelFolder } from '../pack/host-program.js';

type HostFunction = (parameters: BigUint64Array, x: number, y: number, z: number) => void;

export interface HostKernels {
  readonly kernels: readonly FakeKernel[];
  /** Shared bytes and threads of a packing kernel. */
  shapeOf(name: string): readonly [number, number];
  remove(): void;
}

const source = fileURLToPath(new URL('./kernels.cpp', import.meta.url));

/** Parameters of every kernel. */
const PARAMETERS: Readonly<Record<string, readonly ParameterType[]>> = {
  import_tensor: [{ bytes: IMPORT_JOB.bytes }],
  write_rows: [{ bytes: WRITE_JOB.bytes }, { bytes: WRITE_JOB.bytes }],
  ...Object.fromEntries(PACK_INSTANCES.map(({ name }) => [name, [{ bytes: PACK_JOB.bytes }]])),
};

export function buildHostKernels(): HostKernels {
  const folder = mkdtempSync(join(tmpdir(), 'lowbit-kv-host-kernels-'));
  const lines = PACK_INSTANCES.map(
    (instance) => `PACK_KERNEL(${instance.name}, ${packPlanText(instance)})\n`,
  );
  writeFileSync(join(folder, 'kernels.inc'), lines.join(''));
  const path = join(folder, 'kernels.so');
  const flags = ['-std=c++20', '-O2', '-ffp-contract=off', '-fPIC', '-shared'];
  const args = [...flags, `-I${kernelFolder}`, `-I${folder}`, '-o', path, source];
  const { status, stderr } = spawnSync(compiler as string, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${compiler} failed:\n${stderr}`);
  const library = koffi.load(path);
  const kernels = Object.entries(PARAMETERS).map(([name, parameters]): FakeKernel => {
    const types = ['void *', 'uint32', 'uint32', 'uint32'];
    const run = library.func(`${name}_host`, 'void', types) as unknown as HostFunction;
    return {
      name,
      parameters,
      run({ grid, parameters: values }) {
        const copies = parameters.map((_, index) => values.bytes(index).buffer.slice(0));
        run(
          BigUint64Array.from(copies, (copy) => BigInt(koffi.address(copy))),
          ...grid,
        );
      },
    };
  });
  return {
    kernels,
    shapeOf: (name) => koffi.decode(library.symbol(`${name}_shape`, 'uint32'), 'uint32', 2),
    remove() {
      library.unload();
      rmSync(folder, { recursive: true });
    },
  };
}
