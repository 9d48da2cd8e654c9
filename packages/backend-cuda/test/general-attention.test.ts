// Attention over any plan: the kernel's own text, run by the host, against the reference over the same pages.

import type { LayerPlan, Plan } from '@lowbit-kv/core';
import { F32_ATTENTION } from '@lowbit-kv/core/contract';
import { maxAbsDifference, nmse } from '@lowbit-kv/core/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { attentionNumbers } from '../src/general/attention-numbers.js';
import { drawsOf } from './support/attend/random-views.js';
import { type Attended, attendCase, type CaseOptions } from './support/general/attend-case.js';
import { type Launched, launch } from './support/general/attend-launch.js';
import { attendPlans, MANY_SPLITS, TURNING_PLAN } from './support/general/attend-plans.js';
import { contractPlans } from './support/general/contract-plans.js';
import { drawnPlans } from './support/general/drawn-plans.js';
import type { CompiledKernels } from './support/host/compile-kernels.js';
import { buildGeneralAttention } from './support/host/general-kernels.js';
import { compiler } from './support/pack/host-program.js';

const hasCodec = ({ layers }: Plan) =>
  layers.some(({ key, value }) => key.codec !== undefined || value.codec !== undefined);
const plans = [...contractPlans(), ...attendPlans()].filter(({ plan }) => !hasCodec(plan));
const DRAWN = 48;
const DRAWN_AT_ONCE = 6;

it('shares out query heads until a block has room for them', () => {
  const blocks = attendPlans().map(({ plan }) => {
    const { headBlocks, sharedBytes } = attentionNumbers(plan.layers[0] as LayerPlan);
    // What every card of capability 8.0 and later gives a block.
    expect(sharedBytes).toBeLessThanOrEqual(99 * 1024);
    return headBlocks;
  });
  expect(blocks.slice(0, 4)).toEqual([1, 5, 12, 1]);
});

describe.skipIf(compiler === undefined)('general attention', () => {
  /** Threads of a phase in their order, and in the reverse one: a card promises none. */
  let orders: readonly CompiledKernels[] = [];
  beforeAll(() => {
    const reverse = buildGeneralAttention(undefined, ['-O1', '-DLOWBIT_LAST_THREAD_FIRST']);
    orders = [buildGeneralAttention(), reverse];
  }, 60_000);
  afterAll(() => {
    for (const host of orders) host.remove();
  });

  function compare(actual: Attended, expected: Attended) {
    const { output, logSumExp } = F32_ATTENTION;
    expect(nmse(actual.output, expected.output)).toBeLessThanOrEqual(output.value);
    const difference = maxAbsDifference(actual.logSumExp, expected.logSumExp);
    expect(difference).toBeLessThanOrEqual(logSumExp.value);
  }

  /** Gives the most items that a query token was split into. */
  async function comparePlan(plan: Plan, seed: number, options?: CaseOptions): Promise<number> {
    let mostSplits = 0;
    for (const layer of plan.layers.keys()) {
      const attended = await attendCase(plan, layer, drawsOf(seed + layer), options);
      const [actual, reverse] = await Promise.all(orders.map((host) => launch(host, attended)));
      compare(actual as Launched, attended.expected);
      expect(reverse).toEqual(actual);
      expect(actual?.isSettled).toBe(true);
      mostSplits = Math.max(mostSplits, actual?.mostSplits ?? 0);
    }
    return mostSplits;
  }

  it.each(plans.map((named, number) => ({ ...named, number })))(
    '$name',
    async ({ plan, number }) => {
      await comparePlan(plan, 1000 * number);
    },
  );

  it.each(Array.from({ length: DRAWN / DRAWN_AT_ONCE }, (_, i) => DRAWN_AT_ONCE * i))(
    'drawn plans from number %i on',
    async (first) => {
      const drawn = drawnPlans(DRAWN, 77).slice(first, first + DRAWN_AT_ONCE);
      for (const [i, plan] of drawn.entries()) await comparePlan(plan, 31 * (first + i));
    },
  );

  it.each([1000, 131_072, 1_048_570])(
    'keys that turn from position %i on',
    async (firstPosition) => {
      await comparePlan(TURNING_PLAN.plan, firstPosition, { firstPosition });
    },
  );

  it('joins more splits than are looked at together', async () => {
    expect(await comparePlan(TURNING_PLAN.plan, 3, MANY_SPLITS)).toBeGreaterThan(32);
  });

  it('a query that is no number spoils its own row', async () => {
    const { plan } = TURNING_PLAN;
    const spoil = (query: Float32Array) => {
      query[3] = Number.NaN;
    };
    const attended = await attendCase(plan, 0, drawsOf(5), { spoil });
    const { expected } = attended;
    const actual = await launch(orders[0] as CompiledKernels, attended);
    const { valueHeadDim } = (plan.layers[0] as LayerPlan).geometry;
    for (const result of [expected, actual]) {
      expect(result.output.slice(0, valueHeadDim).every(Number.isNaN)).toBe(true);
      expect(result.logSumExp[0]).toBeNaN();
    }
    const others = ({ output, logSumExp }: Attended) => ({
      output: output.slice(valueHeadDim),
      logSumExp: logSumExp.slice(1),
    });
    compare(others(actual), others(expected));
  });
});
