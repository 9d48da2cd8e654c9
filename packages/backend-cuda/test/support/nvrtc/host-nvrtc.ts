/**
 * An NVRTC without a toolkit, for tests: programs become kernels of the fake driver, compiled for the host from the texts that
 * they are given, and from no others.
 */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Nvrtc, NvrtcProgram } from '../../../src/nvrtc/nvrtc.js';
import type { FakeKernel } from '../fake/kernels.js';
import { type CompiledKernels, compileKernels } from '../host/compile-kernels.js';
import { CAREFUL, GENERAL_PARAMETERS } from '../host/general-kernels.js';

type Compiled = CompiledKernels | { readonly log: string };

/** What this process has compiled, by the texts: it takes seconds. */
const compiled = new Map<string, Compiled>();

export interface HostNvrtc extends Nvrtc {
  /** Programs, in the order they came. */
  readonly programs: readonly NvrtcProgram[];
}

/** `imageOf`: of the fake driver that loads them. */
export function hostNvrtc(
  imageOf: (kernels: readonly FakeKernel[]) => Uint8Array,
  change: Partial<Pick<Nvrtc, 'version' | 'architectures'>> = {},
): HostNvrtc {
  const programs: NvrtcProgram[] = [];
  return {
    library: 'host compiler',
    version: 13_000,
    architectures: [80, 86, 89, 90],
    ...change,
    programs,
    compile(program) {
      programs.push(program);
      const result = compile(program);
      if ('log' in result) return { image: undefined, log: result.log };
      return { image: imageOf(result.kernels), log: '' };
    },
  };
}

function compile({ source, headers }: NvrtcProgram): Compiled {
  const key = createHash('sha256')
    .update(JSON.stringify([source, headers]))
    .digest('hex');
  const known = compiled.get(key);
  if (known !== undefined) return known;
  const folder = mkdtempSync(join(tmpdir(), 'lowbit-kv-host-nvrtc-'));
  let result: Compiled;
  try {
    // The host has headers of C++ of its own.
    for (const [name, text] of Object.entries(headers))
      if (name.endsWith('.cuh')) writeFileSync(join(folder, name), text);
    result = compileKernels('codec-kernels.cpp', GENERAL_PARAMETERS, {
      flags: CAREFUL,
      generated: { 'codecs.cuh': source },
      headers: folder,
    });
  } catch (error) {
    // Lines of a text as NVRTC gives them.
    result = { log: String(error).replaceAll(/^(.*?):(\d+):\d+: /gm, '$1($2): ') };
  } finally {
    rmSync(folder, { recursive: true });
  }
  if (compiled.size === 0) process.once('exit', removeAll);
  compiled.set(key, result);
  return result;
}

function removeAll(): void {
  for (const result of compiled.values()) if ('remove' in result) result.remove();
}
