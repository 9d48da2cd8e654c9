// Pages of 128 tokens with head dim 128: attention in integer dot products, bytes in the order it reduces over.
import { describe, expect, it } from 'vitest';
import { codeOrder } from '../src/shaders/code-order.js';
import { testFaults } from './support/integer-faults.js';
import { INTEGER_PLANS, integerPlan, runIntegerPlan } from './support/integer-plans.js';
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

describe('with one fault', async () => {
  await testFaults(swiftShaderDevice, ['outer', 'inner', 'sliding', 'inner, 3 bit'], 120_000);
});
