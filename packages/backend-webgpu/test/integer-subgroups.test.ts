// Integer attention as it runs where workgroups of 32 are one subgroup, with subgroup operations through workgroup memory.
import { expect, it } from 'vitest';
import { emulatedSubgroupsDevice } from './support/emulated-subgroups.js';
import { runIntegerPlan } from './support/integer-plans.js';

// SwiftShader compiles straight code slowly: one plan along tokens, one along channels, one with
// outlier bands.
it.each(['inner', 'sliding', 'bands'] as const)('meets %s', { timeout: 240_000 }, async (name) => {
  const device = await emulatedSubgroupsDevice();
  try {
    expect(await runIntegerPlan(device, name)).toBeGreaterThan(0);
  } finally {
    device.destroy();
  }
});
