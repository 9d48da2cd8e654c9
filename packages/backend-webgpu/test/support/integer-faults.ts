/**
 * Faults of attention in integers, each with a plan that shows it, and the runs of them on a device.
 */
import { afterAll, expect, it } from 'vitest';
import { type IntegerPlan, runIntegerPlan } from './integer-plans.js';
import { type SwitchedFault, SwitchedFaults } from './switched-faults.js';

interface IntegerFault extends SwitchedFault {
  readonly plan: IntegerPlan;
}

const FAULTS: Readonly<Record<string, IntegerFault>> = {
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
  'stale scale of values along tokens': {
    kernel: 'attend',
    plan: 'inner, 3 bit',
    from: 'value_channelParameters(page + value_scaleWord / 4u, group, (*run).lane)',
    to: 'value_channelParameters(page + value_scaleWord / 4u, group ^ 1u, (*run).lane)',
  },
  'a field of 3 bits of another token': {
    kernel: 'attend',
    plan: 'inner, 3 bit',
    from: 'key_dots(fields.y, high)',
    to: 'key_dots(fields.x, high)',
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
    from: 'select(0.0, value / sums.x, seen)',
    to: 'select(0.0, value / sums.x, seen) * 0.0',
  },
};

/** Registers tests: these plans pass with no fault on, and fail with each of theirs. */
export async function testFaults(
  open: () => Promise<GPUDevice>,
  plans: readonly IntegerPlan[],
  timeout: number,
): Promise<void> {
  const chosen = Object.entries(FAULTS).filter(([, { plan }]) => plans.includes(plan));
  const faults = await SwitchedFaults.open(Object.fromEntries(chosen), open);
  afterAll(() => faults.device.destroy());
  it.each(plans)('none: meets %s', { timeout }, async (plan) => {
    const packs = async (device: GPUDevice) =>
      expect(await runIntegerPlan(device, plan)).toBeGreaterThan(0);
    expect(await faults.outcome(null, packs)).toBe('passed');
  });
  it.each(chosen)('%s', { timeout }, async (name, { plan }) => {
    const outcome = await faults.outcome(name, (device) => runIntegerPlan(device, plan));
    expect(outcome).toMatch(/nmse|log-sum-exp/);
  });
}
