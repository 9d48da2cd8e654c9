/**
 * Kernels for the fake driver, compiled from kernels/*.cuh with the C++ compiler of this machine. Needs memory with the host's
 * addresses.
 */
import koffi from 'koffi';
import { packPlanText } from '../../../scripts/kernel-sources.js';
import type { ParameterType } from '../../../src/driver/parameter-block.js';
import { PACK_INSTANCES } from '../../../src/instances.js';
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

/** Parameters of every kernel. */
const PARAMETERS: Readonly<Record<string, readonly ParameterType[]>> = {
  import_tensor: [{ bytes: IMPORT_JOB.bytes }],
  write_rows: [{ bytes: WRITE_JOB.bytes }, { bytes: WRITE_JOB.bytes }],
  ...Object.fromEntries(PACK_INSTANCES.map(({ name }) => [name, [{ bytes: PACK_JOB.bytes }]])),
};

export function buildHostKernels(): HostKernels {
  const lines = PACK_INSTANCES.map(
    (instance) => `PACK_KERNEL(${instance.name}, ${packPlanText(instance)})\n`,
  );
  const { kernels, library, remove } = compileKernels('kernels.cpp', PARAMETERS, {
    flags: ['-O2'],
    generated: { 'kernels.inc': lines.join('') },
  });
  return {
    kernels,
    shapeOf: (name) => koffi.decode(library.symbol(`${name}_shape`, 'uint32'), 'uint32', 2),
    remove,
  };
}
