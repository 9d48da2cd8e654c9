// NVRTC through koffi: on a libnvrtc in C that says what arrives, and on the real one where there is one.
import { sharedExponentCodec } from '@lowbit-kv/core/testing';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { NVRTC_OPTIONS } from '../src/codecs/codec-modules.js';
import { type CudaCodec, codecSource } from '../src/codecs/codec-source.js';
import { GENERAL_ATTEND_KERNEL, GENERAL_PACK_KERNELS } from '../src/general/structs.js';
import { headersForNvrtc } from '../src/kernel-headers.js';
import { findNvrtc, nvrtcNames } from '../src/nvrtc/library.js';
import type { Nvrtc } from '../src/nvrtc/nvrtc.js';
import { buildFakeLibrary, compiler } from './support/compile-fake.js';
import { nvcc } from './support/nvrtc/nvcc.js';
import { errorOf } from './support/open-fake.js';

const codecs = [sharedExponentCodec(24), sharedExponentCodec(64)] as CudaCodec[];

test('the library is looked for where the loader and toolkits have it', () => {
  const environment = { CUDA_PATH: '/opt/a', CUDA_HOME: '/opt/a' };
  const names = ['libnvrtc.so.13', 'libnvrtc.so.12', 'libnvrtc.so'];
  expect(nvrtcNames({ platform: 'linux', environment })).toEqual([
    ...names,
    ...names.map((name) => `/opt/a/lib64/${name}`),
    ...names.map((name) => `/usr/local/cuda/lib64/${name}`),
  ]);
  expect(nvrtcNames({ platform: 'win32', environment: { CUDA_PATH: 'C:\\CUDA\\v13.0' } })).toEqual([
    'nvrtc64_130_0.dll',
    'nvrtc64_120_0.dll',
    'C:\\CUDA\\v13.0\\bin\\x64\\nvrtc64_130_0.dll',
    'C:\\CUDA\\v13.0\\bin\\x64\\nvrtc64_120_0.dll',
    'C:\\CUDA\\v13.0\\bin\\nvrtc64_130_0.dll',
    'C:\\CUDA\\v13.0\\bin\\nvrtc64_120_0.dll',
  ]);
  expect(nvrtcNames({ platform: 'darwin', environment })).toEqual([]);
});

test('what does not load is no compiler, and says why', () => {
  const { found, failures } = findNvrtc({ nvrtc: '/nowhere/libnvrtc.so.13' });
  expect(found).toEqual([]);
  expect([...failures.values()]).toEqual([['/nowhere/libnvrtc.so.13']]);
  expect([...failures.keys()][0]).toContain('load');
});

describe.skipIf(compiler === undefined)('libnvrtc in C', () => {
  let built: ReturnType<typeof buildFakeLibrary>;
  let nvrtc: Nvrtc;

  beforeAll(() => {
    built = buildFakeLibrary('libnvrtc.so.13', './nvrtc/fake-nvrtc.c');
    nvrtc = findNvrtc({ nvrtc: built.library }).found[0] as Nvrtc;
  });
  afterAll(() => built.remove());

  it('says what it is', () => {
    expect(nvrtc).toMatchObject({
      library: built.library,
      version: 13_000,
      architectures: [80, 90],
    });
  });

  it('takes texts, headers and options, and gives machine code', () => {
    const headers = { 'a.cuh': 'one', cmath: 'two' };
    const options = ['--std=c++20', '--gpu-architecture=sm_90'];
    const program = { source: 'a text', headers, options, kind: 'machineCode' } as const;
    // Programs do not outlive their compilation.
    for (let round = 0; round < 2; round++) {
      expect(nvrtc.compile(program)).toEqual({
        image: new TextEncoder().encode('cubin of a text\0'),
        log: '1 alive; codecs.cu; a.cuh: one; cmath: two; --std=c++20; --gpu-architecture=sm_90',
      });
    }
  });

  it('gives PTX for a virtual architecture', () => {
    const options = ['--gpu-architecture=compute_90'];
    const { image } = nvrtc.compile({ source: 'text', headers: {}, options, kind: 'ptx' });
    expect(image).toEqual(new TextEncoder().encode('PTX of text\0'));
  });

  it('gives the log of a program with errors', () => {
    const program = { source: 'error', headers: {}, options: ['-x'], kind: 'ptx' } as const;
    expect(nvrtc.compile(program)).toEqual({ image: undefined, log: '1 alive; codecs.cu; -x' });
  });

  it('that cannot work says so', async () => {
    const program = { source: 'builtins', headers: {}, options: [], kind: 'ptx' } as const;
    expect(await errorOf(() => nvrtc.compile(program))).toMatchObject({
      code: 'BACKEND_UNAVAILABLE',
      summary: 'a call of NVRTC failed (it says: 1 alive; codecs.cu)',
      value: 'nvrtcResult 7',
      where: { call: 'nvrtcCompileProgram' },
      next: expect.stringContaining('libnvrtc-builtins'),
    });
  });
});

test.skipIf(compiler === undefined)('a library that is too old is none', () => {
  const built = buildFakeLibrary('libnvrtc.so', './nvrtc/fake-nvrtc.c');
  process.env.FAKE_NVRTC_VERSION = '11080';
  const { found, failures } = findNvrtc({ nvrtc: built.library });
  delete process.env.FAKE_NVRTC_VERSION;
  built.remove();
  expect(found).toEqual([]);
  expect([...failures]).toEqual([['it is of CUDA 11.8, older than 12.0', [built.library]]]);
});

/** Of this machine; LOWBIT_KV_NVRTC is the path of one. */
const path = process.env.LOWBIT_KV_NVRTC;
const real = findNvrtc(path === undefined ? {} : { nvrtc: path }).found[0];

describe.each([
  ['libnvrtc of this machine (or LOWBIT_KV_NVRTC)', real],
  ['nvcc', nvcc],
] as const)('%s', (_, found) => {
  const compile = (source: string, architecture: string, kind: 'machineCode' | 'ptx') =>
    (found as Nvrtc).compile({
      source,
      headers: headersForNvrtc(source),
      options: [...NVRTC_OPTIONS, `--gpu-architecture=${architecture}`],
      kind,
    });
  const options = { timeout: 120_000, skip: found === undefined };

  it('compiles general kernels with two codecs to machine code', options, () => {
    const { image, log } = compile(codecSource(codecs), 'sm_90', 'machineCode');
    expect(log).toBe('');
    const bytes = Buffer.from(image as Uint8Array);
    expect(bytes.subarray(0, 4).toString('latin1')).toBe('\x7fELF');
    for (const name of [...GENERAL_PACK_KERNELS, GENERAL_ATTEND_KERNEL])
      expect(bytes.includes(`.text.${name}\0`)).toBe(true);
    for (const name of ['spliced_codec_15Codec', 'spliced_codec_25Codec'])
      expect(bytes.includes(name)).toBe(true);
  });

  it('names the line of a text with an error', options, () => {
    const [first, second] = codecs as [CudaCodec, CudaCodec];
    const cuda = `// Text.\n__device__ int f() { return missing; }\n${second.cuda}`;
    const { image, log } = compile(
      codecSource([first, { ...second, cuda }]),
      'sm_90',
      'machineCode',
    );
    expect(image).toBeUndefined();
    expect(log).toMatch(/^codec shared-exponent-64\(2\): error: identifier "missing" is undefined/);
  });

  it('compiles PTX', options, () => {
    const { image } = compile(codecSource(codecs.slice(0, 1)), 'compute_80', 'ptx');
    const text = Buffer.from(image as Uint8Array).toString();
    expect(text).toContain('.target sm_80');
    expect(text).toContain('.entry general_attend(');
    expect(text.at(-1)).toBe('\0');
  });
});
