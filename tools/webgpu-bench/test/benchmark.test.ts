// The parts of the benchmarks that need no GPU, and one tiny run on SwiftShader.
import { webgpuBackend } from '@lowbit-kv/backend-webgpu';
import { type Plan, referenceBackend } from '@lowbit-kv/core';
import { fillCache, raggedLengths } from '@lowbit-kv/harness';
import * as runtime from 'onnxruntime-node';
import { expect, it } from 'vitest';
import { swiftShaderDevice } from '../../../packages/backend-webgpu/test/support/swiftshader.js';
import { attentionModel } from '../src/attention-model.js';
import { DataSource } from '../src/data-source.js';
import { readFlags } from '../src/flags.js';
import { createErrorCase, measureErrors } from '../src/measure-errors.js';
import { PLANS, type PlanEntry, planOf } from '../src/plans.js';
import { timeStep } from '../src/time-step.js';

const NORMAL = createErrorCase('normal', 2, 200, 8);

function planNamed(name: string, queryHeads = 8): Promise<Plan> {
  return planOf(PLANS.find((entry) => entry.name === name) as PlanEntry, 1, queryHeads);
}

it('reads flags', () => {
  expect(readFlags(['--batch', '1,8', '--group', '1,4']).shapes).toEqual([
    { batch: 1, tokens: 131072, group: 1, queries: 1 },
    { batch: 1, tokens: 131072, group: 4, queries: 1 },
    { batch: 8, tokens: 131072, group: 1, queries: 1 },
    { batch: 8, tokens: 131072, group: 4, queries: 1 },
  ]);
  expect(() => readFlags(['--precision', 'quick'])).toThrow(/--precision/);
  expect(() => readFlags(['--tokens', 'many'])).toThrow(/--tokens/);
});

it('lengths are ragged and end inside pages', () => {
  const lengths = raggedLengths(131072, 32);
  expect(new Set(lengths).size).toBe(32);
  expect(lengths.filter((length) => length % 32 === 0)).toEqual([]);
  expect(Math.max(...lengths)).toBeLessThan(131072);
});

it('the reference has no errors, and noise where something is quantized', async () => {
  const plan = await planNamed('kivi-2bit-g32');
  const normal = await measureErrors(plan, referenceBackend(), NORMAL);
  expect(normal.error).toBeLessThan(1e-6);
  expect(normal.noise).toBeGreaterThan(0.05);
  expect(normal.shareOfNoise).toBeLessThan(1e-5);
  const sinks = createErrorCase('sinks', 1, 100, 8);
  const halves = await measureErrors(await planNamed('f16'), referenceBackend(), sinks);
  expect(halves.error).toBeLessThan(1e-6);
  expect(halves).toMatchObject({ noise: 0, shareOfNoise: null });
});

it('an error of attention is seen', async () => {
  const plan = await planNamed('kivi-2bit-g32');
  const wrong = { ...plan.layers[0], geometry: { ...plan.layers[0]?.geometry, scale: 0.08 } };
  const measured = measureErrors(
    plan,
    {
      ...referenceBackend(),
      createStore: (_plan, options) =>
        referenceBackend().createStore({ ...plan, layers: [wrong] } as Plan, options),
    },
    NORMAL,
  );
  expect((await measured).error).toBeGreaterThan(1e-3);
});

it('onnxruntime takes the model', async () => {
  const model = attentionModel({ queryHeads: 32, kvHeads: 8, headDim: 128, type: 'float32' });
  const session = await runtime.InferenceSession.create(model);
  expect(session.outputNames).toEqual(['output', 'present_key', 'present_value']);
  await session.release();
});

it('fills a cache and times a step', { timeout: 120_000 }, async () => {
  const device = await swiftShaderDevice({ requiredFeatures: ['timestamp-query'] });
  const backend = webgpuBackend({ device });
  const source = new DataSource(device);
  const filled = await fillCache(await planNamed('f16'), backend, source, [70, 45], {
    more: 1,
  });
  expect(filled.sequences.map(({ length }) => length)).toEqual([70, 45]);
  const times = await timeStep(backend, source, filled, {
    queryHeads: 8,
    queries: 2,
    samples: 3,
    warmMicroseconds: 0,
    burner: null,
  });
  expect(filled.sequences.map(({ length }) => length)).toEqual([71, 46]);
  for (const time of Object.values(times)) expect(time).toBeGreaterThan(0);
  filled.cache.dispose();
  source.dispose();
  backend.dispose();
  device.destroy();
});
