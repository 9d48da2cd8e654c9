// Pages of 128 tokens with head dim 128: attention in integer dot products, bytes in the order it reduces over.
import { afterAll, describe, expect, it } from 'vitest';
import { elementsOf, shareOfToday } from '../../core/test/support/share-of-today.js';
import { codeOrder } from '../src/shaders/code-order.js';
import { testFaults } from './support/integer-faults.js';
import {
  INTEGER_PLANS,
  type IntegerPlan,
  integerPlan,
  runIntegerPlan,
} from './support/integer-plans.js';
import { keepPipelines } from './support/kept-pipelines.js';
import { swiftShaderDevice } from './support/swiftshader.js';

it.each(INTEGER_PLANS)('%s: bytes in the order of the reduction', (name) => {
  const [layer] = integerPlan(name).layers;
  expect(layer && codeOrder(layer)).toBe('reduction');
});

// SwiftShader takes seconds for the kernel of a plan. In `exact` the plans with faults run below, with none on, and those with
// outlier bands in integer-bands.test.ts; `fast` leaves the same things out of all plans: one of each kind of text runs.
const share = shareOfToday('plans and faults of integer attention', 4);

describe.each([
  ['exact', ['signed scales', 'outer, 3 bit', 'sliding, 3 bit and more']],
  ['fast', ['outer', 'inner', 'signed scales', 'inner, 3 bit', 'bands']],
] as const)('%s', async (precision, plans: readonly IntegerPlan[]) => {
  const device = await swiftShaderDevice();
  keepPipelines(device);
  afterAll(() => device.destroy());
  it.each(elementsOf(plans, share))('%s', { timeout: 120_000 }, async (name) => {
    expect(await runIntegerPlan(device, name, precision)).toBeGreaterThan(0);
  });
});

describe('with one fault', async () => {
  const plans = elementsOf<IntegerPlan>(['outer', 'inner', 'sliding', 'inner, 3 bit'], share);
  await testFaults(swiftShaderDevice, plans, 120_000);
});
