// Tiles pack what the reference packs, byte for byte, and tiles with one fault each do not.
import { afterAll, describe, expect, it } from 'vitest';
import { elementsOf, shareOfToday } from '../../core/test/support/share-of-today.js';
import { type CodeOrder, codeOrder } from '../src/shaders/code-order.js';
import { packingDevice } from './support/drawn-plans.js';
import { type SwitchedFault, SwitchedFaults } from './support/switched-faults.js';
import { runTileCase, TILE_CASES, type TileCaseName, tilePlan } from './support/tile-plans.js';

describe('tiles', async () => {
  const device = await packingDevice();
  afterAll(() => device.destroy());
  const cases = TILE_CASES.flatMap((name) => {
    const orders = tilePlan(name).layers.map(codeOrder);
    return [...new Set(['canonical', ...orders] as const)].map((order) => [name, order] as const);
  });
  const share = shareOfToday('tiles', 2);
  it.each(elementsOf(cases, share))('%s, %s', async (name, order) => {
    expect(await runTileCase(device, name, order === 'reduction')).toBeGreaterThan(10);
  });
});

interface Fault extends SwitchedFault {
  readonly plan: TileCaseName;
  readonly order?: CodeOrder;
}

const FAULTS: Readonly<Record<string, Fault>> = {
  'stale scale: codes by the steps of another group': {
    kernel: 'packTile',
    from: 'tile_steps[firstEntry + (row * PATCH_SLOTS + s) * TILE_GROUPS + column / PARTS]',
    to: 'tile_steps[firstEntry + (row * PATCH_SLOTS + s) * TILE_GROUPS + (column / PARTS + 1u) % TILE_GROUPS]',
    plan: 'outer axes, 4 bit, 32',
  },
  'stale scale along tokens': {
    kernel: 'packTile',
    from: 'row / PARTS * TILE_CHANNELS',
    to: '((row / PARTS) ^ 1u) * TILE_CHANNELS',
    plan: 'outer axes, 2 bit, 32 and 128',
  },
  'a group shifted by one part': {
    kernel: 'packTile',
    from: 'entry % TILE_GROUPS * PARTS + part',
    to: 'entry % TILE_GROUPS * PARTS + (part + 1u)',
    plan: 'outer axes, 2 bit, 64 and 32',
  },
  'the next token of the window': {
    kernel: 'packTile',
    from: 'head * WINDOW_TOKENS + token',
    to: 'head * WINDOW_TOKENS + (token ^ 1u)',
    plan: 'outer axes, 8 bit',
  },
  'the first span for all rows': {
    kernel: 'packTile',
    from: 'i < pack.spans',
    to: 'i < 1u',
    plan: 'outer axes, 8 bit',
  },
  'what was packed before is lost': {
    kernel: 'packTile',
    from: '(wordAt(index) & ~mask) | (word & mask)',
    to: 'word & mask',
    plan: 'outer axes, 4 bit, 128',
  },
  'half-way numbers rounded up': {
    kernel: 'packTile',
    from: '(error == half) & odd',
    to: 'error == half',
    plan: 'inner axes, 8 bit',
  },
  'subnormal numbers taken for normal ones': {
    kernel: 'packTile',
    from: '0x70800000u',
    to: '0x70000000u',
    plan: 'outer axes, 4 bit, 32',
  },
  'the last of the largest numbers in place of the first': {
    kernel: 'packTile',
    from: 'abs(values[i]) > abs(extreme)',
    to: 'abs(values[i]) >= abs(extreme)',
    plan: 'inner axes, 4 bit, scales with a sign',
  },
  'parts of a spread word exchanged': {
    kernel: 'packTile',
    from: 'word >> (2u * part)',
    to: 'word >> (4u - 2u * part)',
    plan: '3 bit the other way',
    order: 'reduction',
  },
  'always around zero': {
    kernel: 'packTile',
    from: 'second < first || (second == first && tensor_tieAsymmetric)',
    to: 'false',
    plan: 'hybrids along tokens and channels',
  },
};

describe('with one fault', async () => {
  const faults = await SwitchedFaults.open(FAULTS, packingDevice);
  afterAll(() => faults.device.destroy());
  const outcome = (name: string | null, { plan, order }: Pick<Fault, 'plan' | 'order'>) =>
    faults.outcome(name, (device) => runTileCase(device, plan, order === 'reduction'));
  it.each(Object.values(FAULTS))('none: packs $plan', async (fault) => {
    expect(await outcome(null, fault)).toBe('passed');
  });
  it.each(Object.entries(FAULTS))('%s', async (name, fault) => {
    expect(await outcome(name, fault)).toMatch(/byte for byte/);
  });
});
