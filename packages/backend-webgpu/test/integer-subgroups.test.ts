// Integer attention as it runs where workgroups of 32 are one subgroup, with subgroup operations through workgroup memory.
import { expect, it } from 'vitest';
import { emulatedSubgroupsDevice } from './support/emulated-subgroups.js';
import { runIntegerPlan } from './support/integer-plans.js';

// SwiftShader compiles straight code slowly: of each kind of text, one plan.
it.each([
  ['inner', 'exact'],
  ['sliding', 'exact'],
  ['inner, 3 bit', 'fast'],
  ['outer, 3 bit', 'exact'],
  ['bands', 'exact'],
] as const)('meets %s, %s', { timeout: 240_000 }, async (name, precision) => {
  const device = await emulatedSubgroupsDevice();
  try {
    expect(await runIntegerPlan(device, name, precision)).toBeGreaterThan(0);
  } finally {
    device.destroy();
  }
});
