// Attention over any plan: the kernel's own text, run by the host, against the reference over the same pages.
import { maxAbsDifference, nmse } from '@lowbit-kv/core/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { drawsOf } from './support/attend/random-views.js';
import { type Attended, attendCase } from './support/general/attend-case.js';
import { type AttendLibrary, buildAttendLibrary } from './support/general/attend-library.js';
import { contractPlans } from './support/general/contract-plans.js';
import { compiler } from './support/pack/host-program.js';

/** As backends that sum in f32 are held to by the contract: of the output, and of log-sum-exps. */
const OUTPUT_NMSE = 1e-11;
const LOG_SUM_EXP = 2e-5;

const plans = contractPlans().filter(({ plan }) =>
  plan.layers.every(({ key, value }) => key.codec === undefined && value.codec === undefined),
);

describe.skipIf(compiler === undefined)('general attention', () => {
  let library: AttendLibrary;
  beforeAll(() => {
    library = buildAttendLibrary();
  });
  afterAll(() => library.remove());

  function compare(actual: Attended, expected: Attended) {
    expect(nmse(actual.output, expected.output)).toBeLessThanOrEqual(OUTPUT_NMSE);
    expect(maxAbsDifference(actual.logSumExp, expected.logSumExp)).toBeLessThanOrEqual(LOG_SUM_EXP);
  }

  it.each(plans)('$name', async ({ plan }) => {
    for (const layer of plan.layers.keys()) {
      for (let seed = 0; seed < 2; seed++) {
        const attended = await attendCase(plan, layer, drawsOf(7 * layer + seed));
        const { arrivals, ...actual } = attended.run(library);
        compare(actual, attended.expected);
        expect(arrivals.every((count) => count === 0)).toBe(true);
      }
    }
  });
});
