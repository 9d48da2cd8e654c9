// Keys and values that stay f16: attention in a kernel of its own, with subgroups of 32 and without.
import { afterAll, describe, expect, it } from 'vitest';
import { elementsOf, shareOfToday } from '../../core/test/support/share-of-today.js';
import { staysHalf } from '../src/shaders/half-programs.js';
import { emulatedSubgroupsDevice } from './support/emulated-subgroups.js';
import { HALF_PLANS, type HalfPlan, halfPlan, runHalfPlan } from './support/half-plans.js';
import { swiftShaderDevice } from './support/swiftshader.js';
import { type SwitchedFault, SwitchedFaults } from './support/switched-faults.js';

const DEVICES = {
  'without subgroups': swiftShaderDevice,
  'in subgroups of 32': emulatedSubgroupsDevice,
};

const devices = elementsOf(Object.entries(DEVICES), shareOfToday('devices of f16 attention', 2));
describe.each(devices)('%s', (_name, open) => {
  it.each(HALF_PLANS)('%s', { timeout: 120_000 }, async (name) => {
    const [layer] = halfPlan(name).layers;
    expect(layer && staysHalf(layer)).toBe(true);
    const device = await open();
    await runHalfPlan(device, name);
    device.destroy();
  });
});

interface Fault extends SwitchedFault {
  readonly plan: HalfPlan;
}

const GROUPED = '96, four query heads, out of the input';
const SLIDING = '128, six query heads, sliding';
const UNEQUAL = 'keys 192, values 128';

const FAULTS: Readonly<Record<string, Fault>> = {
  'swapped heads of keys': {
    kernel: 'attend',
    plan: UNEQUAL,
    from: 'key_at(source, page, slot, head, lane)',
    to: 'key_at(source, page, slot, head ^ 1u, lane)',
  },
  'swapped heads of values': {
    kernel: 'attend',
    plan: UNEQUAL,
    from: 'value_at(source, page, slot, head, lane)',
    to: 'value_at(source, page, slot, head ^ 1u, lane)',
  },
  'swapped heads of keys in the input': {
    kernel: 'attend',
    plan: GROUPED,
    from: 'slot * key_heads + head',
    to: 'slot * key_heads + (head ^ 1u)',
  },
  'a sliding window one longer': {
    kernel: 'attend',
    plan: SLIDING,
    from: 'token + WINDOW_SIZE',
    to: 'token + WINDOW_SIZE + 1u',
  },
  'a tile that the window still touches left out': {
    kernel: 'attend',
    plan: SLIDING,
    from: 'first + TILE - 1u + WINDOW_SIZE',
    to: 'first + TILE - 2u + WINDOW_SIZE',
  },
  'the newest token unseen': {
    kernel: 'attend',
    plan: UNEQUAL,
    from: 'vec4<u32>(token) <= position',
    to: 'vec4<u32>(token) < position',
  },
  'tiles end one token early': {
    kernel: 'attend',
    plan: UNEQUAL,
    from: '(min(work.firstRow + ROWS, work.rows) - 1u) / GROUP_HEADS + 1u',
    to: '(min(work.firstRow + ROWS, work.rows) - 1u) / GROUP_HEADS',
  },
  'weights of the last tile': {
    kernel: 'attend',
    plan: UNEQUAL,
    from: 'buffer + lane / TOKEN_LANES',
    to: 'TILE - buffer + lane / TOKEN_LANES',
  },
  'sums that keep an old maximum': {
    kernel: 'attend',
    plan: UNEQUAL,
    from: 'sum *= rescale;',
    to: '',
  },
  'a token too few to a head': {
    kernel: 'attend',
    plan: UNEQUAL,
    from: 'token < count',
    to: 'token + 1u < count',
  },
  'zero output': {
    kernel: 'merge',
    plan: UNEQUAL,
    from: 'select(0.0, value / sums.x, seen)',
    to: 'select(0.0, value / sums.x, seen) * 0.0',
  },
};

describe('with one fault', async () => {
  const faults = await SwitchedFaults.open(FAULTS);
  afterAll(() => faults.device.destroy());
  it.each([GROUPED, SLIDING, UNEQUAL] as const)(
    'none: meets %s',
    { timeout: 120_000 },
    async (plan) => {
      expect(await faults.outcome(null, (device) => runHalfPlan(device, plan))).toBe('passed');
    },
  );
  it.each(Object.entries(FAULTS))('%s', { timeout: 120_000 }, async (name, { plan }) => {
    const outcome = await faults.outcome(name, (device) => runHalfPlan(device, plan));
    expect(outcome).toMatch(/nmse|log-sum-exp/);
  });
});
