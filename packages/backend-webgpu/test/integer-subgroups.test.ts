// Integer attention as it runs where workgroups of 32 are one subgroup, with subgroup operations through workgroup memory.
import { describe, expect, it } from 'vitest';
import { elementsOf, shareOfToday } from '../../core/test/support/share-of-today.js';
import { emulatedSubgroupsDevice } from './support/emulated-subgroups.js';
import { testFaults } from './support/integer-faults.js';
import { type IntegerPlan, runIntegerPlan } from './support/integer-plans.js';

// SwiftShader compiles straight code slowly: of each kind of text, one plan.
const PLANS = [
  ['sliding', 'fast'],
  ['inner, 3 bit', 'fast'],
  ['outer, 3 bit', 'fast'],
  ['bands', 'exact'],
] as const;
const share = shareOfToday('plans and faults of integer attention with subgroups', 4);

it.each(elementsOf(PLANS, share))('meets %s, %s', { timeout: 240_000 }, async (name, precision) => {
  const device = await emulatedSubgroupsDevice();
  try {
    expect(await runIntegerPlan(device, name, precision)).toBeGreaterThan(0);
  } finally {
    device.destroy();
  }
});

// Several sets in straight code, and loops over keys along channels and behind a sliding window.
describe('with one fault', async () => {
  const plans = elementsOf<IntegerPlan>(['outer', 'inner', 'sliding'], share);
  await testFaults(emulatedSubgroupsDevice, plans, 240_000);
});
