/**
 * nvcc in the place of NVRTC, for tests: toolkits without libnvrtc have it. It takes its own headers of C++ and CUDA.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Nvrtc, NvrtcProgram, NvrtcResult } from '../../../src/nvrtc/nvrtc.js';

const version = /release (\d+)\.(\d+)/.exec(
  spawnSync('nvcc', ['--version'], { encoding: 'utf8' }).stdout ?? '',
);

/** Undefined where it is not installed. */
export const nvcc: Nvrtc | undefined =
  version === null
    ? undefined
    : {
        library: 'nvcc',
        version: 1000 * Number(version[1]) + 10 * Number(version[2]),
        architectures: [80, 86, 89, 90],
        compile,
      };

function compile({ source, headers, options, kind }: NvrtcProgram): NvrtcResult {
  const folder = mkdtempSync(join(tmpdir(), 'lowbit-kv-nvcc-'));
  const [input, output] = [join(folder, 'codecs.cu'), join(folder, 'image')];
  writeFileSync(input, source);
  for (const [name, text] of Object.entries(headers))
    if (name.endsWith('.cuh')) writeFileSync(join(folder, name), text);
  // Of NVRTC alone.
  const own = options.filter((option) => option !== '--device-as-default-execution-space');
  const args = [...own, kind === 'ptx' ? '-ptx' : '-cubin', '-o', output, input];
  const { status, stderr } = spawnSync('nvcc', args, { encoding: 'utf8' });
  const image = status === 0 ? readFileSync(output) : undefined;
  rmSync(folder, { recursive: true });
  return {
    image: kind === 'ptx' && image ? Buffer.concat([image, Buffer.of(0)]) : image,
    log: stderr,
  };
}
