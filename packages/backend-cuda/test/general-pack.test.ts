// The general packing kernels on the host: memory after them is what the reference leaves, byte for byte.
import type { Plan } from '@lowbit-kv/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { contractPlans } from './support/general/contract-plans.js';
import { drawnPlans } from './support/general/drawn-plans.js';
import { differencesOf } from './support/general/tensor-appends.js';
import type { CompiledKernels } from './support/host/compile-kernels.js';
import { buildGeneralKernels } from './support/host/general-kernels.js';
import { KINDS } from './support/pack/data.js';
import { compiler } from './support/pack/host-program.js';

const ORDINARY = ['normal', 'large means and outlier channels', 'magnitudes far apart'];
const ALL = Object.keys(KINDS);

describe.skipIf(compiler === undefined)('general packing kernels', () => {
  let host: CompiledKernels;

  beforeAll(() => {
    host = buildGeneralKernels();
  });
  afterAll(() => host.remove());

  const comparePlan = async (plan: Plan, kinds: readonly string[], seed: number) => {
    const differences = await differencesOf(host.kernels, plan, kinds, seed);
    expect(differences).toEqual([]);
  };

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
