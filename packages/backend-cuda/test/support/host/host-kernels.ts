/**
 * Kernels for the fake driver, compiled from kernels/*.cuh with the C++ compiler of this machine. Needs memory with the host's
 * addresses.
 */
import koffi from 'koffi';
import { packPlanText } from '../../../scripts/kernel-sources.js';
import type { ParameterType } from '../../../src/driver/parameter-block.js';
import { PACK_INSTANCES, type PackInstance } from '../../../src/instances.js';
import { PACK_JOB } from '../../../src/store/fragment-pages.js';
import { IMPORT_JOB, WRITE_JOB } from '../../../src/store/moves.js';
import type { FakeKernel } from '../fake/kernels.js';
import { compileKernels } from './compile-kernels.js';

export interface HostKernels {
  readonly kernels: readonly FakeKernel[];
  /** Shared bytes and threads of a packing kernel. */
  shapeOf(name: string): readonly [number, number];
  remove(): void;
}

/** Parameters of kernels that move. */
const MOVES: Readonly<Record<string, readonly ParameterType[]>> = {
  import_tensor: [{ bytes: IMPORT_JOB.bytes }],
  write_rows: [{ bytes: WRITE_JOB.bytes }, { bytes: WRITE_JOB.bytes }],
};

/** Those that move, and these that pack. */
export function buildHostKernels(instances: readonly PackInstance[] = PACK_INSTANCES): HostKernels {
  const packs = instances.map(({ name }) => [name, [{ bytes: PACK_JOB.bytes }]]);
  const parameters = { ...MOVES, ...Object.fromEntries(packs) };
  const lines = instances.map(
    (instance) => `PACK_KERNEL(${instance.name}, ${packPlanText(instance)})\n`,
  );
  const { kernels, library, remove } = compileKernels('kernels.cpp', parameters, {
    // Most of the time goes into compiling them.
    flags: ['-O0'],
    generated: { 'kernels.inc': lines.join('') },
  });
  return {
    kernels,
    shapeOf: (name) => koffi.decode(library.symbol(`${name}_shape`, 'uint32'), 'uint32', 2),
    remove,
  };
}
