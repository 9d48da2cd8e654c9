// Integer attention as it runs where workgroups of 32 are one subgroup, with subgroup operations through workgroup memory.
import { expect, it } from 'vitest';
import { emulatedSubgroupsDevice } from './support/emulated-subgroups.js';
import { INTEGER_PLANS, runIntegerPlan } from './support/integer-plans.js';

it.each(INTEGER_PLANS)('meets %s', { timeout: 240_000 }, async (name) => {
  const device = await emulatedSubgroupsDevice();
  try {
    expect(await runIntegerPlan(device, name)).toBeGreaterThan(0);
  } finally {
    device.destroy();
  }
});
