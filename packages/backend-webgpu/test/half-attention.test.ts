// Keys and values that stay f16: attention in a kernel of its own, with subgroups of 32 and without.
import { describe, expect, it } from 'vitest';
import { staysHalf } from '../src/shaders/half-programs.js';
import { emulatedSubgroupsDevice } from './support/emulated-subgroups.js';
import { failureOf, type ShaderFault } from './support/faulty-device.js';
import { HALF_PLANS, type HalfPlan, halfPlan, runHalfPlan } from './support/half-plans.js';
import { swiftShaderDevice } from './support/swiftshader.js';

const DEVICES = {
  'without subgroups': swiftShaderDevice,
  'in subgroups of 32': emulatedSubgroupsDevice,
};

describe.each(Object.entries(DEVICES))('%s', (_name, open) => {
  it.each(HALF_PLANS)('%s', { timeout: 120_000 }, async (name) => {
    const [layer] = halfPlan(name).layers;
    expect(layer && staysHalf(layer)).toBe(true);
    const device = await open();
    await runHalfPlan(device, name);
    device.destroy();
  });
});

interface Fault extends Omit<ShaderFault, 'kernel'> {
  readonly kernel?: string;
  readonly plan: HalfPlan;
}

const GROUPED = '96, four query heads, out of the input';
const SLIDING = '128, six query heads, sliding';
const UNEQUAL = 'keys 192, values 128';

const FAULTS: Readonly<Record<string, Fault>> = {
  'swapped heads of keys': {
    plan: UNEQUAL,
    from: 'let at = key_at(source, page, slot, head, lane)',
    to: 'let at = key_at(source, page, slot, head ^ 1u, lane)',
  },
  'swapped heads of values': {
    plan: UNEQUAL,
    from: 'let at = value_at(source, page, slot, head, lane)',
    to: 'let at = value_at(source, page, slot, head ^ 1u, lane)',
  },
  'swapped heads of keys in the input': {
    plan: GROUPED,
    from: 'slot * key_heads + head,',
    to: 'slot * key_heads + (head ^ 1u),',
  },
  'a sliding window one longer': {
    plan: SLIDING,
    from: 'token + WINDOW_SIZE)',
    to: 'token + WINDOW_SIZE + 1u)',
  },
  'a tile that the window still touches left out': {
    plan: SLIDING,
    from: 'first + TILE - 1u + WINDOW_SIZE',
    to: 'first + TILE - 2u + WINDOW_SIZE',
  },
  'the newest token unseen': {
    plan: UNEQUAL,
    from: 'vec4<u32>(token) <= position',
    to: 'vec4<u32>(token) < position',
  },
  'tiles end one token early': {
    plan: UNEQUAL,
    from: '/ GROUP_HEADS + 1u;',
    to: '/ GROUP_HEADS;',
  },
  'weights of the last tile': {
    plan: UNEQUAL,
    from: 'let own = buffer',
    to: 'let own = TILE - buffer',
  },
  'sums that keep an old maximum': { plan: UNEQUAL, from: 'sum *= rescale;', to: '' },
  'a token too few to a head': {
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

it.each(Object.entries(FAULTS))('fails with %s', { timeout: 120_000 }, async (_name, fault) => {
  const { kernel = 'attend', plan, from, to } = fault;
  const outcome = await failureOf({ kernel, from, to }, (device) => runHalfPlan(device, plan));
  expect(outcome).toMatch(/nmse|log-sum-exp/);
});
