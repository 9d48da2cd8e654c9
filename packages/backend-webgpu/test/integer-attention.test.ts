// Pages of 128 tokens with head dim 128: attention in integer dot products, bytes in the order it reduces over.
import { describe, expect, it } from 'vitest';
import { codeOrder } from '../src/shaders/code-order.js';
import { failureOf, type ShaderFault } from './support/faulty-device.js';
import {
  INTEGER_PLANS,
  type IntegerPlan,
  integerPlan,
  runIntegerPlan,
} from './support/integer-plans.js';
import { swiftShaderDevice } from './support/swiftshader.js';

describe.each(['exact', 'fast'] as const)('%s', (precision) => {
  it.each(INTEGER_PLANS)('%s', { timeout: 120_000 }, async (name) => {
    const [layer] = integerPlan(name).layers;
    expect(layer && codeOrder(layer)).toBe('reduction');
    const device = await swiftShaderDevice();
    expect(await runIntegerPlan(device, name, precision)).toBeGreaterThan(0);
    device.destroy();
  });
});

const FAULTS: Readonly<Record<string, ShaderFault & { readonly plan: IntegerPlan }>> = {
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
    from: 'key_scaleWord / 4u, group, lane',
    to: 'key_scaleWord / 4u, group ^ 1u, lane',
  },
  'stale scale of keys along channels': {
    kernel: 'attend',
    plan: 'inner',
    from: 'scales.a[group]',
    to: 'scales.a[group ^ 1u]',
  },
  'stale scale of values along tokens': {
    kernel: 'attend',
    plan: 'inner, 3 bit',
    from: 'value_scaleWord / 4u, group,',
    to: 'value_scaleWord / 4u, group ^ 1u,',
  },
  'a field of 3 bits of another token': {
    kernel: 'attend',
    plan: 'inner, 3 bit',
    from: 'highC += key_dots(fields.y, high)',
    to: 'highC += key_dots(fields.x, high)',
  },
  'bits of the spread word out of the wrong place': {
    kernel: 'attend',
    plan: 'inner, 3 bit',
    from: 'third >> vec4<u32>(2u)',
    to: 'third >> vec4<u32>(3u)',
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
    from: 'token + WINDOW_SIZE)',
    to: 'token + WINDOW_SIZE + 1u)',
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

it.each(Object.entries(FAULTS))('fails with %s', { timeout: 120_000 }, async (_name, fault) => {
  const run = async (device: GPUDevice) => {
    await runIntegerPlan(device, fault.plan);
  };
  expect(await failureOf(fault, run)).toMatch(/nmse|log-sum-exp/);
});
