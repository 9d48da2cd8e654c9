// A value that is not finite is hidden from every query that does not see its token.
import { createCache, createPlan, f16Tensor, f32Tensor, referenceBackend } from '@lowbit-kv/core';
import { asymmetric, inlineScheme, lcgNormal } from '@lowbit-kv/core/testing';
import { afterAll, expect, it } from 'vitest';
import { webgpuBackend } from '../src/index.js';
import { type SwitchedFault, SwitchedFaults } from './support/switched-faults.js';

const TOKENS = 64;
const NAN = 0x7e00;
/** The last queries of the step come before the token `HIDDEN`. */
const HIDDEN = 40;

const f16 = { bits: 16 } as const;
const geometry = { layers: 1, queryHeads: 2, kvHeads: 1 };
/** Both tensors in f16, and tokens in f16 beside pages that are met in integers. */
const PLANS = {
  'f16 rows': createPlan(inlineScheme({ key: f16, value: f16 }), {
    ...geometry,
    keyHeadDim: 64,
    valueHeadDim: 64,
  }),
  'windows of packed rows': createPlan(
    inlineScheme({
      key: asymmetric(4, 'tokens', 128),
      value: asymmetric(4, 'channels', 128, { recent: 64, flush: 4 }),
    }),
    { ...geometry, keyHeadDim: 128, valueHeadDim: 128 },
    { blockTokens: 128 },
  ),
} as const;

type PlanName = keyof typeof PLANS;

/** Outputs of the queries before the hidden token. */
async function outputOf(device: GPUDevice | null, name: PlanName): Promise<Float32Array> {
  const plan = PLANS[name];
  const dim = plan.layers[0]?.geometry.keyHeadDim as number;
  const wgslLanguageFeatures = new Set(['packed_4x8_integer_dot_product']);
  const backend =
    device === null ? referenceBackend() : webgpuBackend({ device, wgslLanguageFeatures });
  const cache = await createCache(plan, backend, {
    capacity: { tokens: 64, sequences: 1 },
    nonFinite: 'mask',
  });
  const sequence = cache.createSequence();
  const shape = [TOKENS, 1, dim];
  const [key, value] = [1, 2].map((seed) => lcgNormal({ seed, shape, dtype: 'f16' }));
  if (!(key instanceof Uint16Array) || !(value instanceof Uint16Array))
    throw new Error('f16 is drawn as 16 bits');
  value.fill(NAN, HIDDEN * dim, (HIDDEN + 1) * dim);
  const step = cache.step([{ sequence, tokens: TOKENS }]);
  step.append(0, f16Tensor(key, shape), f16Tensor(value, shape));
  const queryShape = [TOKENS, 2, dim];
  const query = f32Tensor(lcgNormal({ seed: 3, shape: queryShape, dtype: 'f32' }), queryShape);
  const { output } = await step.attend(0, query).read();
  await step.commit();
  cache.dispose();
  return (output.data as Float32Array).slice(0, HIDDEN * 2 * dim);
}

async function compare(device: GPUDevice, name: PlanName): Promise<void> {
  const expected = await outputOf(null, name);
  const actual = await outputOf(device, name);
  const off = expected.findIndex((value, i) => !(Math.abs(value - (actual[i] as number)) < 1e-5));
  if (off >= 0) throw new Error(`element ${off}: ${actual[off]} instead of ${expected[off]}`);
}

const FAULTS = {
  'f16 rows': {
    kernel: 'attend',
    from: 'count == TILE && seenByAll(first, position)',
    to: 'count == TILE',
  },
  'windows of packed rows': {
    kernel: 'attend',
    from: 'select(weight * value, vec4<f32>(0.0), weight == 0.0)',
    to: 'weight * value',
  },
} satisfies Record<PlanName, SwitchedFault>;

const faults = await SwitchedFaults.open<PlanName>(FAULTS);
afterAll(() => faults.device.destroy());

it.each(Object.keys(PLANS) as PlanName[])('hides it: %s', { timeout: 120_000 }, async (name) => {
  const hides = async (device: GPUDevice) => {
    await compare(device, name);
    expect((await outputOf(device, name)).some((value) => value !== 0)).toBe(true);
  };
  expect(await faults.outcome(null, hides)).toBe('passed');
});

it.each(Object.keys(FAULTS) as PlanName[])(
  'shows with a fault: %s',
  { timeout: 120_000 },
  async (name) => {
    expect(await faults.outcome(name, (device) => compare(device, name))).toContain('NaN');
  },
);
