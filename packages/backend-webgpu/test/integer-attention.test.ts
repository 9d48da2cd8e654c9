// Pages of 128 tokens with head dim 128: attention in integer dot products, bytes in the order it reduces over.
import { afterAll, describe, expect, it } from 'vitest';
import { codeOrder } from '../src/shaders/code-order.js';
import {
  INTEGER_PLANS,
  type IntegerPlan,
  integerPlan,
  runIntegerPlan,
} from './support/integer-plans.js';
import { swiftShaderDevice } from './support/swiftshader.js';
import { type SwitchedFault, SwitchedFaults } from './support/switched-faults.js';

describe.each(['exact', 'fast'] as const)('%s', (precision) => {
  it.each(INTEGER_PLANS)('%s', { timeout: 120_000 }, async (name) => {
    const [layer] = integerPlan(name).layers;
    expect(layer && codeOrder(layer)).toBe('reduction');
    const device = await swiftShaderDevice();
    expect(await runIntegerPlan(device, name, precision)).toBeGreaterThan(0);
    device.destroy();
  });
});

const FAULTS: Readonly<Record<string, SwitchedFault & { readonly plan: IntegerPlan }>> = {
  'swapped heads of keys': {
    kernel: 'attend',
    plan: 'outer',
    from: 'head * key_headWords',
    to: '(head ^ 1u) * key_headWords',
  },
  'swapped heads of values': {
    kernel: 'attend',
    plan: 'inner',
    from: 'head * value_headWords',
    to: '(head ^ 1u) * value_headWords',
  },
  'stale scale of keys along tokens': {
    kernel: 'attend',
    plan: 'outer',
    from: 'key_channelParameters(slots.page + key_scaleWord / 4u, group, lane)',
    to: 'key_channelParameters(slots.page + key_scaleWord / 4u, group ^ 1u, lane)',
  },
  'stale scale of keys along channels': {
    kernel: 'attend',
    plan: 'inner',
    from: 'scales.a[group]',
    to: 'scales.a[group ^ 1u]',
  },
  'no low parts': {
    kernel: 'attend',
    plan: 'outer',
    from: '256.0 * high.a + low.a',
    to: '256.0 * high.a',
  },
  'a sliding window one longer': {
    kernel: 'attend',
    plan: 'sliding',
    from: 'token + WINDOW_SIZE',
    to: 'token + WINDOW_SIZE + 1u',
  },
  'the newest token unseen': {
    kernel: 'attend',
    plan: 'outer',
    from: 'vec4<u32>(token) <= position',
    to: 'vec4<u32>(token) < position',
  },
  'zero output': {
    kernel: 'merge',
    plan: 'outer',
    from: 'select(0.0, value / sum, seen)',
    to: 'select(0.0, value / sum, seen) * 0.0',
  },
};

describe('with one fault', async () => {
  const faults = await SwitchedFaults.open(FAULTS);
  afterAll(() => faults.device.destroy());
  it.each(INTEGER_PLANS)('none: meets %s', { timeout: 120_000 }, async (plan) => {
    expect(await faults.outcome(null, (device) => runIntegerPlan(device, plan))).toBe('passed');
  });
  it.each(Object.entries(FAULTS))('%s', { timeout: 120_000 }, async (name, { plan }) => {
    const outcome = await faults.outcome(name, (device) => runIntegerPlan(device, plan));
    expect(outcome).toMatch(/nmse|log-sum-exp/);
  });
});
