// A value that is not finite is hidden from every query that does not see its token.
import { createCache, createPlan, f16Tensor, f32Tensor, referenceBackend } from '@lowbit-kv/core';
import { inlineScheme, lcgNormal } from '@lowbit-kv/core/testing';
import { expect, it } from 'vitest';
import { webgpuBackend } from '../src/index.js';
import { failureOf } from './support/faulty-device.js';
import { swiftShaderDevice } from './support/swiftshader.js';

const TOKENS = 64;
const DIM = 64;
const NAN = 0x7e00;
/** The last queries of the step come before the token `HIDDEN`. */
const HIDDEN = 40;

const f16 = { bits: 16 } as const;
const plan = createPlan(inlineScheme({ key: f16, value: f16 }), {
  layers: 1,
  queryHeads: 2,
  kvHeads: 1,
  keyHeadDim: DIM,
  valueHeadDim: DIM,
});

/** Outputs of the queries before the hidden token. */
async function outputOf(device: GPUDevice | null): Promise<Float32Array> {
  const backend = device === null ? referenceBackend() : webgpuBackend({ device });
  const cache = await createCache(plan, backend, {
    capacity: { tokens: 64, sequences: 1 },
    nonFinite: 'mask',
  });
  const sequence = cache.createSequence();
  const shape = [TOKENS, 1, DIM];
  const [key, value] = [1, 2].map((seed) => lcgNormal({ seed, shape, dtype: 'f16' }));
  if (!(key instanceof Uint16Array) || !(value instanceof Uint16Array))
    throw new Error('f16 is drawn as 16 bits');
  value.fill(NAN, HIDDEN * DIM, (HIDDEN + 1) * DIM);
  const step = cache.step([{ sequence, tokens: TOKENS }]);
  step.append(0, f16Tensor(key, shape), f16Tensor(value, shape));
  const queryShape = [TOKENS, 2, DIM];
  const query = f32Tensor(lcgNormal({ seed: 3, shape: queryShape, dtype: 'f32' }), queryShape);
  const { output } = await step.attend(0, query).read();
  await step.commit();
  cache.dispose();
  return (output.data as Float32Array).slice(0, HIDDEN * 2 * DIM);
}

async function compare(device: GPUDevice): Promise<void> {
  const expected = await outputOf(null);
  const actual = await outputOf(device);
  const off = expected.findIndex((value, i) => !(Math.abs(value - (actual[i] as number)) < 1e-5));
  if (off >= 0) throw new Error(`element ${off}: ${actual[off]} instead of ${expected[off]}`);
}

it('hides it', { timeout: 60_000 }, async () => {
  const device = await swiftShaderDevice();
  await compare(device);
  expect((await outputOf(device)).some((value) => value !== 0)).toBe(true);
  device.destroy();
});

it('does not when every tile is met whole', { timeout: 60_000 }, async () => {
  const fault = {
    kernel: 'attend',
    from: 'count == TILE && seenByAll(first, position)',
    to: 'count == TILE',
  };
  expect(await failureOf(fault, compare)).toContain('NaN');
});
