/**
 * Compiles kernels for the host, and gives them to the fake driver. Needs memory with the host's addresses.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import koffi from 'koffi';
import type { ParameterType } from '../../../src/driver/parameter-block.js';
import type { FakeKernel } from '../fake/kernels.js';
import { compiler, kernelFolder } from '../pack/host-program.js';

type HostFunction = (parameters: BigUint64Array, x: number, y: number, z: number) => void;
export type HostLibrary = ReturnType<typeof koffi.load>;

export interface CompiledKernels {
  readonly kernels: readonly FakeKernel[];
  readonly library: HostLibrary;
  remove(): void;
}

export interface CompileOptions {
  /** Of the compiler. */
  readonly flags: readonly string[];
  /** Files that the source includes. */
  readonly generated?: Readonly<Record<string, string>>;
  /** The folder of the headers. */
  readonly headers?: string;
}

/** `source`: a file of this folder, with a function `..._host` for each kernel. `parameters`: of every kernel. */
export function compileKernels(
  source: string,
  parameters: Readonly<Record<string, readonly ParameterType[]>>,
  { flags, generated = {}, headers = kernelFolder }: CompileOptions,
): CompiledKernels {
  const folder = mkdtempSync(join(tmpdir(), 'lowbit-kv-host-kernels-'));
  for (const [name, text] of Object.entries(generated)) writeFileSync(join(folder, name), text);
  const path = join(folder, 'kernels.so');
  const main = fileURLToPath(new URL(source, import.meta.url));
  // Kernels look at memory as bytes, halves and vectors, as nvcc allows.
  const always = ['-std=c++20', '-ffp-contract=off', '-fno-strict-aliasing', '-fPIC', '-shared'];
  const args = [...always, ...flags, `-I${headers}`, `-I${folder}`, '-o', path, main];
  const { status, stderr } = spawnSync(compiler as string, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${compiler} failed:\n${stderr}`);
  const library = koffi.load(path);
  return {
    kernels: Object.entries(parameters).map(([name, types]) => kernelOf(library, name, types)),
    library,
    remove() {
      library.unload();
      rmSync(folder, { recursive: true });
    },
  };
}

function kernelOf(
  library: HostLibrary,
  name: string,
  parameters: readonly ParameterType[],
): FakeKernel {
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
}
