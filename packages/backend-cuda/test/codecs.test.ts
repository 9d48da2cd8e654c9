// Codecs of schemes: which compiler they get, what is refused, and bytes and outputs of kernels with two of them.
import { createCache, createPlan, type GroupCodec, type Plan } from '@lowbit-kv/core';
import { createTwin, F32_ATTENTION, type Pair } from '@lowbit-kv/core/contract';
import { inlineScheme } from '@lowbit-kv/core/testing';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { CodecModules, NVRTC_OPTIONS } from '../src/codecs/codec-modules.js';
import { type CudaCodec, codecSource } from '../src/codecs/codec-source.js';
import type { Nvrtc, NvrtcProgram } from '../src/nvrtc/nvrtc.js';
import type { FakeOptions } from './support/fake/fake-driver.js';
import { FAKE_FATBIN } from './support/fake/images.js';
import { type FakeBackend, fakeBackend } from './support/fake-backend.js';
import { buildHostKernels, type HostKernels } from './support/host/host-kernels.js';
import { encodedBy, leadingBytesCodec } from './support/leading-bytes-codec.js';
import { errorOf, withFake } from './support/open-fake.js';
import { compiler } from './support/pack/host-program.js';
import { STUBS } from './support/stub-kernels.js';

const BY_CHANNEL = leadingBytesCodec(5, 2);
const BY_TOKEN = leadingBytesCodec(24, 3);

/** Two layers; rows are no whole quads, groups no whole words. */
function planOf(key: CudaCodec = BY_CHANNEL, value: CudaCodec = BY_TOKEN): Plan {
  const scheme = inlineScheme({
    sinks: 3,
    key: encodedBy(key, 'channels'),
    value: encodedBy(value, 'tokens'),
    codecs: [key, value],
  });
  const geometry = { layers: 2, queryHeads: 6, kvHeads: 2, keyHeadDim: 10, valueHeadDim: 10 };
  return createPlan(scheme, geometry, { blockTokens: 48 });
}

describe.skipIf(compiler === undefined)('a plan with two codecs', () => {
  let host: HostKernels;
  beforeAll(() => {
    host = buildHostKernels([]);
  }, 60_000);
  afterAll(() => host.remove());

  async function withBackend(body: (opened: FakeBackend) => Promise<void>): Promise<void> {
    const opened = fakeBackend(host.kernels);
    await body(opened);
    opened.backend.dispose();
    expect(opened.fake.leaks()).toEqual([]);
  }

  it('gives the bytes and outputs of the reference', { timeout: 60_000 }, async () => {
    await withBackend(async ({ backend, nvrtc }) => {
      const plan = planOf();
      expect(backend.supports(plan)).toMatchObject({
        kind: 'native',
        kernels: [{ name: 'general_attend', speed: 'general' }, { name: 'general_attend' }],
      });
      const options = { tokens: 512, tolerances: F32_ATTENTION };
      const twin = await createTwin(plan, backend, options);
      const [a, b] = [twin.createPair(), twin.createPair()] as [Pair, Pair];
      await twin.step([
        { pair: a, tokens: 131 },
        { pair: b, tokens: 17 },
      ]);
      const fork = twin.fork(a);
      await twin.step([
        { pair: a, tokens: 30 },
        { pair: b, tokens: 40 },
        { pair: fork, tokens: 1 },
      ]);
      let blocks = 0;
      for (const pair of [a, b, fork]) blocks += await twin.compareBlocks(pair);
      expect(blocks).toBeGreaterThan(0);
      twin.dispose();
      // Two layers and two caches take one module.
      const again = await createTwin(plan, backend, options);
      again.dispose();
      expect(nvrtc.programs).toHaveLength(1);
    });
  });

  it('whose text has an error: the codec and its line', { timeout: 60_000 }, async () => {
    await withBackend(async ({ backend }) => {
      const cuda = `// Text.\n__device__ int f() { return missing; }\n${BY_TOKEN.cuda}`;
      const error = await errorOf(() =>
        createCache(planOf(BY_CHANNEL, { ...BY_TOKEN, cuda }), backend, {
          capacity: { tokens: 99 },
        }),
      );
      expect(error).toMatchObject({
        code: 'CODEC_INVALID',
        value: [BY_TOKEN.id],
        summary: expect.stringMatching(/codec leading-bytes-24-3\(2\): error: .*missing/),
        next: expect.stringContaining('count from its first one'),
      });
    });
  });

  it('whose text lacks a function', { timeout: 60_000 }, async () => {
    await withBackend(async ({ backend }) => {
      const cuda = BY_TOKEN.cuda.replace('encodeGroup', 'encode');
      const error = await errorOf(() =>
        createCache(planOf(BY_CHANNEL, { ...BY_TOKEN, cuda }), backend, {
          capacity: { tokens: 99 },
        }),
      );
      expect(error).toMatchObject({
        code: 'CODEC_INVALID',
        value: [BY_TOKEN.id],
        summary: expect.stringContaining('encodeGroup'),
      });
    });
  });
});

test('texts that include others are refused before they are compiled', async () => {
  const codec = { ...BY_CHANNEL, cuda: `#include <cuda_fp16.h>\n${BY_CHANNEL.cuda}` };
  expect(await errorOf(() => codecSource([codec]))).toMatchObject({
    code: 'CODEC_INVALID',
    value: '#include <cuda_fp16.h>',
    summary: 'the CUDA text of the codec "leading-bytes-5-2" includes a header',
  });
});

describe('without a compiler', () => {
  const REASON =
    /^key: the codec "leading-bytes-5-2" is compiled by NVRTC, which does not load \(.*\): install NVRTC .*cuda-nvrtc-13-0.*`nvrtc`/;
  const open = (nvrtc: string) => fakeBackend(STUBS, () => ({ nvrtc })).backend;

  it('`supports` says what to install, and a cache is refused', async () => {
    const backend = open('/nowhere/libnvrtc.so.13');
    expect(backend.supports(planOf())).toEqual({
      kind: 'refused',
      reasons: [expect.stringMatching(REASON), expect.stringMatching(/^value: .*24-3/)],
    });
    const error = await errorOf(() => createCache(planOf(), backend, { capacity: { tokens: 99 } }));
    expect(error.code).toBe('PLAN_REFUSED');
    expect(error.message).toContain('/nowhere/libnvrtc.so.13');
    backend.dispose();
  });

  it('a codec without text is refused for that', () => {
    const { cuda: _, ...silent } = BY_CHANNEL;
    const plan = planOf(silent as GroupCodec as CudaCodec);
    expect(open('/nowhere/libnvrtc.so.13').supports(plan)).toMatchObject({
      reasons: ['key: the codec "leading-bytes-5-2" brings no text for CUDA', expect.anything()],
    });
  });

  it('a plan that has lost its codecs is refused for that', () => {
    const withoutCodec = (key: string, value: unknown) => (key === 'codec' ? undefined : value);
    const plan = JSON.parse(JSON.stringify(planOf(), withoutCodec)) as Plan;
    expect(open('/nowhere/libnvrtc.so.13').supports(plan)).toEqual({
      kind: 'refused',
      reasons: [
        'key: the plan does not carry its codec "leading-bytes-5-2": make it again',
        'value: the plan does not carry its codec "leading-bytes-24-3": make it again',
      ],
    });
  });

  it('plans without codecs do not look for one', () => {
    const value = { bits: 16 } as const;
    const geometry = { layers: 1, queryHeads: 2, kvHeads: 2, keyHeadDim: 16, valueHeadDim: 16 };
    const plan = createPlan(inlineScheme({ key: value, value }), geometry);
    const nvrtc = Object.freeze({
      get length(): number {
        throw new Error('looked at');
      },
    }) as unknown as readonly Nvrtc[];
    const { backend } = fakeBackend(STUBS, () => ({ nvrtc }));
    expect(backend.supports(plan).kind).toBe('native');
    expect(() => backend.supports(planOf())).toThrow('looked at');
  });
});

describe('which compiler a card takes', () => {
  /** Makes nothing, and remembers what it was asked for. */
  function nvrtcOf(version: number, architectures: readonly number[]) {
    const programs: NvrtcProgram[] = [];
    const compile = (program: NvrtcProgram) => {
      programs.push(program);
      return { image: FAKE_FATBIN, log: '' };
    };
    return { library: `libnvrtc of ${version}`, version, architectures, compile, programs };
  }

  const NEW = [80, 86, 89, 90, 100, 120];
  const OLD = [80, 86, 89, 90];

  async function asked(options: FakeOptions, ...found: ReturnType<typeof nvrtcOf>[]) {
    await withFake(options, ({ context }) => {
      const modules = new CodecModules(context, () => ({ found, failures: new Map() }));
      const module = modules.of([BY_CHANNEL]);
      expect(modules.of([BY_CHANNEL])).toBe(module);
    });
    return found.map(({ programs }) =>
      programs.map(({ kind, options }) => [kind, ...options.slice(NVRTC_OPTIONS.length)].join(' ')),
    );
  }

  it.each([
    ['its own machine code', 90, 13_000, ['machineCode --gpu-architecture=sm_90']],
    [
      'that of a lower one of its major number',
      88,
      13_000,
      ['machineCode --gpu-architecture=sm_86'],
    ],
    ['PTX where there is none', 120, 13_000, ['ptx --gpu-architecture=compute_90']],
    ['machine code of a later minor version', 90, 12_040, ['machineCode --gpu-architecture=sm_90']],
  ])('%s', async (_, capability, driver, options) => {
    const nvrtc = nvrtcOf(driver === 12_040 ? 12_090 : 13_000, OLD);
    expect(await asked({ devices: [{ capability }], version: driver }, nvrtc)).toEqual([options]);
  });

  it('the older of two, where the driver is older than the newer', async () => {
    const both = [nvrtcOf(13_000, NEW), nvrtcOf(12_090, OLD)];
    expect(await asked({ version: 12_040 }, ...both)).toEqual([
      [],
      ['machineCode --gpu-architecture=sm_90'],
    ]);
  });

  it.each([
    ['a driver that is too old for its code', { version: 12_040 }, nvrtcOf(13_000, NEW), '580'],
    [
      'a card that is too new for its machine code, and a driver too old for its PTX',
      { version: 13_000, devices: [{ capability: 120 }] },
      nvrtcOf(13_010, OLD),
      '13.1',
    ],
  ])('%s', async (_, options, nvrtc, words) => {
    const error = await errorOf(() => asked(options, nvrtc));
    expect(error).toMatchObject({
      code: 'PLAN_REFUSED',
      value: [expect.stringMatching(/^libnvrtc of \d+ of CUDA 13/)],
      next: expect.stringMatching(
        /Install .* Or: install NVRTC of the CUDA version of your driver/,
      ),
    });
    expect(error.message).toContain(words);
    expect(nvrtc.programs).toEqual([]);
  });
});
