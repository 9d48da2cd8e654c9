/**
 * Kernels for the fake driver, compiled from kernels/*.cuh with the C++ compiler of this machine. Needs memory with the host's
 * addresses.
 */
import koffi from 'koffi';
import { packPlanText } from '../../../scripts/kernel-sources.js';
import type { ParameterType } from '../../../src/driver/parameter-block.js';
import { APPEND_INSTANCES, type AppendInstance } from '../../../src/instances.js';
import { APPEND_JOB, WRITE_JOB } from '../../../src/store/append-job.js';
import { IMPORT_JOB } from '../../../src/store/moves.js';
import type { FakeKernel } from '../fake/kernels.js';
import { compileKernels } from './compile-kernels.js';

export interface HostKernels {
  readonly kernels: readonly FakeKernel[];
  /** Shared bytes and threads of a way to pack. */
  shapeOf(name: string): readonly [number, number];
  remove(): void;
}

/** Parameters of kernels that move. */
const MOVES: Readonly<Record<string, readonly ParameterType[]>> = {
  import_tensor: [{ bytes: IMPORT_JOB.bytes }],
  write_rows: [{ bytes: WRITE_JOB.bytes }, { bytes: WRITE_JOB.bytes }],
};

/** Those that move, and those that append, of which these pack too. */
export function buildHostKernels(
  instances: readonly AppendInstance[] = APPEND_INSTANCES,
): HostKernels {
  const parameters = APPEND_INSTANCES.map(({ name }) => [
    name,
    [{ bytes: APPEND_JOB.bytes }, { bytes: APPEND_JOB.bytes }],
  ]);
  const packings = new Map(
    instances.flatMap(({ key, value }) => [key, value]).map((one) => [one.name, one]),
  );
  const lines = [
    ...[...packings.values()].map((one) => `PACK(${one.name}, ${packPlanText(one)})`),
    ...APPEND_INSTANCES.map((instance) => {
      const { name, key, value } = instance;
      if (!instances.includes(instance)) return `APPEND_UNPACKED(${name})`;
      return `APPEND(${name}, ${key.name}, ${value.name})`;
    }),
  ];
  const { kernels, library, remove } = compileKernels(
    'kernels.cpp',
    { ...MOVES, ...Object.fromEntries(parameters) },
    // Most of the time goes into compiling them.
    { flags: ['-O0'], generated: { 'kernels.inc': `${lines.join('\n')}\n` } },
  );
  return {
    kernels: kernels.map((kernel) =>
      kernel.name in MOVES ? kernel : { ...kernel, ptxVersion: 90 },
    ),
    shapeOf: (name) => koffi.decode(library.symbol(`${name}_shape`, 'uint32'), 'uint32', 2),
    remove,
  };
}
