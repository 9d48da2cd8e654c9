// The general packing kernels on the host: memory after them is what the reference leaves, byte for byte.
import type { Plan } from '@lowbit-kv/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { contractPlans } from './support/general/contract-plans.js';
import { drawnPlans } from './support/general/drawn-plans.js';
import { buildHostKernels, type HostKernels } from './support/general/host-kernels.js';
import { drawAppend, kernelOutcome, referenceOutcome } from './support/general/tensor-appends.js';
import { withFake } from './support/open-fake.js';
import { KINDS } from './support/pack/data.js';
import { compiler } from './support/pack/host-program.js';
import { differenceOf } from './support/pack/launches.js';

const ORDINARY = ['normal', 'large means and outlier channels', 'magnitudes far apart'];
const ALL = Object.keys(KINDS);

describe.skipIf(compiler === undefined)('general packing kernels', () => {
  let host: HostKernels;

  beforeAll(() => {
    host = buildHostKernels();
  });
  afterAll(() => host.remove());

  /** Compares every packed tensor of a plan; returns how many there were. */
  async function comparePlan(plan: Plan, kinds: readonly string[], seed: number): Promise<number> {
    let compared = 0;
    for (const [layer, layerPlan] of plan.layers.entries()) {
      for (const name of ['key', 'value'] as const) {
        const tensor = layerPlan[name];
        if (tensor.layout === null || tensor.codec !== undefined) continue;
        const append = drawAppend(tensor, kinds, seed + 10 * compared);
        const expected = await referenceOutcome(plan, layer, append);
        await withFake({ kernels: host.kernels }, (opened) => {
          const actual = kernelOutcome(opened, tensor, append);
          expect(actual.fault, 'fault').toBe(expected.fault);
          for (const kind of ['statistics', 'window', 'packed'] as const) {
            // What a failed step leaves is nobody's.
            if (kind === 'packed' && expected.fault !== null) continue;
            const difference = differenceOf(actual.bytes[kind], expected.bytes[kind]);
            expect(difference, `${name} of layer ${layer}, ${kind} pages`).toBeUndefined();
          }
          if (expected.fault === null)
            expect(differenceOf(expected.bytes.packed, append.before.packed)).toBeDefined();
        });
        compared++;
      }
    }
    return compared;
  }

  test.each(contractPlans())('$name', async ({ plan }) => {
    await comparePlan(plan, ORDINARY, 7);
  });

  const drawn = drawnPlans(200, 20261130);
  test.each(Array.from({ length: 10 }, (_, part) => [20 * part]))(
    'drawn plans from number %i on',
    async (first) => {
      for (const [i, plan] of drawn.slice(first, first + 20).entries()) {
        const kinds = i % 2 === 0 ? ORDINARY : [ALL[(first + i) % ALL.length] as string];
        await comparePlan(plan, kinds, first + i);
      }
    },
  );
});
