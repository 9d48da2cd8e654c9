// Tensors larger than a buffer may be: heads are shared out to several buffers, and nothing else changes.
import { createCache, createPlan, type Plan, type Tensor } from '@lowbit-kv/core';
import { createTwin, INTEGER_ATTENTION } from '@lowbit-kv/core/contract';
import {
  asymmetric,
  bands,
  channelScaled,
  inlineCalibration,
  inlineScheme,
  lcgNormal,
  type SchemeParts,
  symmetric,
} from '@lowbit-kv/core/testing';
import { afterAll, expect, it } from 'vitest';
import { gpuTensor, webgpuBackend } from '../src/index.js';
import { swiftShaderDevice } from './support/swiftshader.js';

const KV_HEADS = 4;
const QUERY_HEADS = 8;
/** What the backend leaves for numbers in front of pages. */
const NUMBERS_BYTES = 1024 * 1024;
const wgslLanguageFeatures = new Set(['packed_4x8_integer_dot_product']);

const device = await swiftShaderDevice();
const { limits } = device;
const createBuffer = device.createBuffer.bind(device);
/** Sizes of the buffers of pages that were made. */
let pages: number[] = [];
device.createBuffer = (descriptor) => {
  if (descriptor.label?.endsWith(' pages')) pages.push(descriptor.size);
  return createBuffer(descriptor);
};
afterAll(() => device.destroy());

function limitBuffers(bytes: number | null): void {
  const limited: Partial<Record<keyof GPUSupportedLimits, number>> =
    bytes === null ? {} : { maxBufferSize: bytes, maxStorageBufferBindingSize: bytes };
  Object.defineProperty(device, 'limits', {
    configurable: true,
    value: new Proxy(limits, {
      get: (target, name: keyof GPUSupportedLimits) => limited[name] ?? target[name],
    }),
  });
}

/** Limits buffers to `share` of the larger tensor of a cache. */
async function limitTo(share: number, plan: Plan, capacity: { tokens: number; sequences: number }) {
  limitBuffers(null);
  pages = [];
  const backend = webgpuBackend({ device, wgslLanguageFeatures });
  (await createCache(plan, backend, { capacity })).dispose();
  backend.dispose();
  limitBuffers(NUMBERS_BYTES + Math.floor(share * Math.max(...pages)));
  pages = [];
}

function planOf(parts: SchemeParts, dim = 32): Plan {
  const scheme = inlineScheme(parts);
  const geometry = {
    layers: dim === 128 ? 1 : 2,
    queryHeads: QUERY_HEADS,
    kvHeads: KV_HEADS,
    keyHeadDim: dim,
    valueHeadDim: dim,
  };
  const calibration = inlineCalibration(scheme, geometry);
  return createPlan(scheme, geometry, {
    ...(calibration && { calibration }),
    ...(dim === 128 && { blockTokens: 128 }),
  });
}

const SCALE = { kind: 'channelScale', scope: 'model' } as const;
const ORDER = { kind: 'channelOrder', scope: 'model' } as const;
const MEAN = { kind: 'channelMean', scope: 'sequence', statisticsTokens: 24 } as const;
const window = { recent: 8, flush: 4 };
const PLANS = {
  'statistics of two transforms': planOf({
    key: {
      ...channelScaled(asymmetric(4, 'tokens', 16), 24),
      transforms: [MEAN, ...(channelScaled(asymmetric(4, 'tokens', 16), 24).transforms ?? [])],
    },
    value: symmetric(3, 'full', 'channels', 16, window),
    sinks: 3,
  }),
  'calibrated heads': planOf({
    key: { ...asymmetric(3, 'channels', 16), transforms: [ORDER, SCALE] },
    value: { ...symmetric(4, 'signmag', 'channels', 16, window), transforms: [SCALE] },
  }),
  'outlier bands': planOf({ key: bands('midRise', 'head'), value: bands('uniform', 'head') }),
  f16: planOf({ key: { bits: 16 }, value: { bits: 16 } }),
  integers: planOf(
    { key: asymmetric(4, 'tokens', 32), value: asymmetric(2, 'channels', 128, window) },
    128,
  ),
};

it.each(Object.entries(PLANS))('%s', { timeout: 120_000 }, async (name, plan) => {
  const options = { tokens: 260, sequences: 3 };
  const capacity = { tokens: options.tokens * options.sequences, sequences: options.sequences };
  await limitTo(0.3, plan, capacity);
  const backend = webgpuBackend({ device, wgslLanguageFeatures });
  const twin = await createTwin(plan, backend, { ...options, tolerances: INTEGER_ATTENTION });
  // Each head has buffers of its own.
  expect(pages).toHaveLength(plan.layers.length * 2 * KV_HEADS);
  expect(Math.max(...pages)).toBeLessThanOrEqual(device.limits.maxBufferSize);
  const [long, short] = [twin.createPair(), twin.createPair()];
  await twin.grow(long, 140);
  await twin.step([
    { pair: long, tokens: 3 },
    { pair: short, tokens: 20 },
  ]);
  const blocks = await twin.compareBlocks(long);
  if (name !== 'f16') expect(blocks).toBeGreaterThan(0);
  const crossed = await twin.crossed(long);
  twin.truncate(crossed, 131);
  await twin.step([{ pair: crossed, tokens: 2 }]);
  await twin.attend([short, crossed], [1, 2]);
  await twin.compareBlocks(crossed);
  twin.dispose();
  backend.dispose();
});

it('gives the same from buffers, into buffers, inside a recording', async () => {
  const plan = PLANS['calibrated heads'];
  const capacity = { tokens: 128, sequences: 1 };
  const [rows, dim] = [70, 32];
  const bufferOf = (data: Float32Array) => {
    const buffer = device.createBuffer({ size: data.byteLength, usage: 0x8c });
    device.queue.writeBuffer(buffer, 0, data as Float32Array<ArrayBuffer>);
    return buffer;
  };
  const drawn = (seed: number, heads: number) =>
    bufferOf(lcgNormal({ seed, shape: [rows, heads, dim], dtype: 'f32' }));
  const [key, value, query] = [drawn(1, KV_HEADS), drawn(2, KV_HEADS), drawn(3, QUERY_HEADS)];
  const tensor = (buffer: GPUBuffer, heads: number): Tensor =>
    gpuTensor(buffer, { type: 'f32', shape: [rows, heads, dim] });
  const outputs: Float32Array[] = [];
  for (const share of [2, 0.6]) {
    await limitTo(share, plan, capacity);
    const backend = webgpuBackend({ device });
    const cache = await createCache(plan, backend, { capacity, nonFinite: 'mask' });
    expect(pages).toHaveLength(plan.layers.length * 2 * (share < 1 ? 2 : 1));
    const step = cache.step([{ sequence: cache.createSequence(), tokens: rows }]);
    const target = bufferOf(new Float32Array(rows * QUERY_HEADS * (dim + 1)).fill(7));
    const encoder = device.createCommandEncoder();
    const recording = backend.record(encoder, () => {
      for (const layer of [0, 1]) {
        step.append(layer, tensor(key, KV_HEADS), tensor(value, KV_HEADS));
        const output = tensor(target, QUERY_HEADS);
        const logSumExp = gpuTensor(target, {
          type: 'f32',
          shape: [rows, QUERY_HEADS],
          offset: rows * QUERY_HEADS * dim,
        });
        step.attend(layer, tensor(query, QUERY_HEADS), {
          logSumExp: true,
          into: { output, logSumExp },
        });
      }
    });
    device.queue.submit([encoder.finish()]);
    recording.submitted();
    await step.commit();
    const staging = device.createBuffer({ size: target.size, usage: 0x9 });
    const copy = device.createCommandEncoder();
    copy.copyBufferToBuffer(target, 0, staging, 0, target.size);
    device.queue.submit([copy.finish()]);
    await staging.mapAsync(1);
    outputs.push(new Float32Array(staging.getMappedRange()).slice());
    cache.dispose();
    backend.dispose();
  }
  const [whole, split] = outputs as [Float32Array, Float32Array];
  expect(new Set(whole).size).toBeGreaterThan(1000);
  for (const [i, expected] of whole.entries()) expect(split[i]).toBeCloseTo(expected, 5);
});

it('names the head of a value that is not finite', async () => {
  const plan = PLANS.f16;
  const capacity = { tokens: 64, sequences: 1 };
  await limitTo(0.3, plan, capacity);
  const backend = webgpuBackend({ device });
  const cache = await createCache(plan, backend, { capacity });
  const data = new Float32Array(5 * KV_HEADS * 32).fill(1);
  data[(3 * KV_HEADS + 2) * 32 + 9] = 1e6;
  const buffer = device.createBuffer({ size: data.byteLength, usage: 0x8c });
  device.queue.writeBuffer(buffer, 0, data);
  const tensor = gpuTensor(buffer, { type: 'f32', shape: [5, KV_HEADS, 32] });
  const layers = plan.layers.map(() => ({ key: tensor, value: tensor }));
  const appended = cache.append([{ sequence: cache.createSequence(), tokens: 5 }], layers);
  await expect(appended).rejects.toMatchObject({
    code: 'NON_FINITE',
    value: `element ${(3 * KV_HEADS + 2) * 32 + 9}`,
    where: { head: 2, token: 3, channel: 9 },
  });
  cache.dispose();
  backend.dispose();
});

it('refuses heads that share parameters, and heads that are too large alone', async () => {
  const capacity = { tokens: 256, sequences: 1 };
  const together = planOf({ key: bands('midRise', 'allHeads'), value: bands('uniform', 'head') });
  for (const [plan, share] of [
    [together, 0.6],
    [PLANS.f16, 0.1],
  ] as const) {
    await limitTo(share, plan, capacity);
    const backend = webgpuBackend({ device });
    await expect(createCache(plan, backend, { capacity })).rejects.toMatchObject({
      code: 'BACKEND_FAILED',
      next: expect.stringMatching(/requiredLimits \{ maxBufferSize: \d+/),
    });
    backend.dispose();
  }
});
