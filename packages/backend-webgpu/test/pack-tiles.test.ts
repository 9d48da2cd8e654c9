// Tiles pack what the reference packs, byte for byte, and tiles with one fault each do not.
import { afterAll, describe, expect, it, test } from 'vitest';
import { type CodeOrder, codeOrder } from '../src/shaders/code-order.js';
import { packingDevice, withoutAttention } from './support/drawn-plans.js';
import { failureOf, type ShaderFault } from './support/faulty-device.js';
import { runTileCase, TILE_CASES, type TileCaseName, tilePlan } from './support/tile-plans.js';

describe('tiles', async () => {
  const device = await packingDevice();
  afterAll(() => device.destroy());
  const cases = TILE_CASES.flatMap((name) => {
    const orders = tilePlan(name).layers.map(codeOrder);
    return [...new Set(['canonical', ...orders] as const)].map((order) => [name, order] as const);
  });
  it.each(cases)('%s, %s', async (name, order) => {
    expect(await runTileCase(device, name, order === 'reduction')).toBeGreaterThan(10);
  });
});

interface Fault extends Omit<ShaderFault, 'kernel'> {
  readonly plan: TileCaseName;
  readonly order?: CodeOrder;
}

const FAULTS: Readonly<Record<string, Fault>> = {
  'stale scale: codes by the steps of another group': {
    from: 'column / PARTS]',
    to: '(column / PARTS + 1u) % TILE_GROUPS]',
    plan: 'outer axes, 4 bit, 32',
  },
  'stale scale along tokens': {
    from: 'row / PARTS * TILE_CHANNELS + column * PATCH_CHANNELS + 4u * q;',
    to: '((row / PARTS) ^ 1u) * TILE_CHANNELS + column * PATCH_CHANNELS + 4u * q;',
    plan: 'outer axes, 2 bit, 32 and 128',
  },
  'a group shifted by one part': {
    from: 'entry % TILE_GROUPS * PARTS + part;',
    to: 'entry % TILE_GROUPS * PARTS + (part + 1u);',
    plan: 'outer axes, 2 bit, 64 and 32',
  },
  'the next token of the window': {
    from: 'head * WINDOW_TOKENS + token)',
    to: 'head * WINDOW_TOKENS + (token ^ 1u))',
    plan: 'outer axes, 8 bit',
  },
  'the first span for all rows': {
    from: 'i < pack.spans',
    to: 'i < 1u',
    plan: 'outer axes, 8 bit',
  },
  'what was packed before is lost': {
    from: '(wordAt(index) & ~mask) | ',
    to: '',
    plan: 'outer axes, 4 bit, 128',
  },
  'half-way numbers rounded up': {
    from: '((error == half) & odd)',
    to: '(error == half)',
    plan: 'inner axes, 8 bit',
  },
  'subnormal numbers taken for normal ones': {
    from: '0x70800000u',
    to: '0x70000000u',
    plan: 'outer axes, 4 bit, 32',
  },
  'the last of the largest numbers in place of the first': {
    from: 'abs(values[i]) > abs(extreme)',
    to: 'abs(values[i]) >= abs(extreme)',
    plan: 'inner axes, 4 bit, scales with a sign',
  },
  'parts of a spread word exchanged': {
    from: 'word >> (2u * part)',
    to: 'word >> (4u - 2u * part)',
    plan: '3 bit the other way',
    order: 'reduction',
  },
  'always around zero': {
    from: 'second < first ||',
    to: 'false &&',
    plan: 'hybrids along tokens and channels',
  },
};

test.each(Object.entries(FAULTS))('fault: %s', async (_name, { plan, order, ...fault }) => {
  const outcome = await failureOf({ kernel: 'packTile', ...fault }, async (device) => {
    await runTileCase(withoutAttention(device), plan, order === 'reduction');
  });
  expect(outcome).toMatch(/byte for byte/);
});
