/**
 * Attention kernels of the instance tables for the fake driver: their own text, run lane by lane (test/support/warp).
 */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  attentionJob,
  attentionText,
  type BuiltInstance,
  TARGETS,
  type Target,
  warpsOf,
} from '../../../scripts/kernel-sources.js';
import { BAND_JOB_BYTES, DECODE_JOB } from '../../../src/attend/structs.js';
import { kernelFolder } from '../pack/host-program.js';
import { type CompiledKernels, compileKernels } from './compile-kernels.js';

const WARP_FOLDER = fileURLToPath(new URL('../warp', import.meta.url));
/** What test/support/warp has its own of. */
const REPLACED = 'mma.cuh';
const CARD = TARGETS.find(({ name }) => name === 'sm_90') as Target;

export interface AttentionKernels extends CompiledKernels {
  /** How lanes are run, and when copies happen: what the hardware leaves open. */
  setWeather(weather: { readonly isBackwards: boolean; readonly isEager: boolean }): void;
}

/** A mistake in a header, to see whether tests find it. */
export interface Mistake {
  readonly header: string;
  /** Stands there once. */
  readonly text: string;
  readonly mistake: string;
}

export function buildAttentionKernels(
  instances: readonly BuiltInstance[],
  mistake?: Mistake,
): AttentionKernels {
  const headers = mkdtempSync(join(tmpdir(), 'lowbit-kv-attention-'));
  for (const name of readdirSync(kernelFolder))
    if (name.endsWith('.cuh') && name !== REPLACED)
      cpSync(join(kernelFolder, name), join(headers, name));
  if (mistake !== undefined) make(mistake, join(headers, mistake.header));
  const lines = instances.map((instance) => {
    const warps = warpsOf(instance, CARD);
    return `ATTEND(${instance.name}, ${attentionJob(instance)}, ${warps}, ${attentionText(instance, warps)})`;
  });
  const parameters = instances.map((instance) => {
    const bytes = 'key' in instance ? DECODE_JOB.bytes : BAND_JOB_BYTES;
    return [instance.name, [{ bytes }]] as const;
  });
  const built = compileKernels('../warp/attend.cpp', Object.fromEntries(parameters), {
    flags: ['-O1', `-I${WARP_FOLDER}`],
    generated: { 'kernels.inc': `${lines.join('\n')}\n` },
    headers,
  });
  rmSync(headers, { recursive: true });
  const failure = built.library.func('failure', 'str', []) as unknown as () => string | null;
  const weather = built.library.func('weather', 'void', ['int', 'int']);
  return {
    ...built,
    kernels: built.kernels.map(({ run, ...kernel }) => ({
      ...kernel,
      ptxVersion: 90,
      run(call) {
        run(call);
        const what = failure();
        if (what !== null) throw new Error(`${kernel.name} on the host: ${what}`);
      },
    })),
    setWeather: ({ isBackwards, isEager }) => weather(Number(isBackwards), Number(isEager)),
  };
}

function make({ text, mistake }: Mistake, path: string): void {
  const parts = readFileSync(path, 'utf8').split(text);
  if (parts.length !== 2) throw new Error(`${text} stands in ${path} ${parts.length - 1} times`);
  writeFileSync(path, parts.join(mistake));
}
