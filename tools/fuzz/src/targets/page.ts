/** Canonical pages of every golden case, as `validatePage` gets them from outside. */
import { readFileSync } from 'node:fs';
import {
  canonicalizePage,
  codeLevels,
  decodeTokens,
  type PackedTensorPlan,
  storedGroup,
  validatePage,
} from '@lowbit-kv/core';
import { GOLDEN_CASES, goldenPlan } from '../../../../packages/core/scripts/golden-cases.js';
import { joined, mutateBytes } from '../mutate/bytes.js';
import { mustHold, type Target } from '../target.js';

const FOLDER = new URL('../../../../packages/core/test/golden/', import.meta.url);
/** Number of the case, and of valid tokens. */
const PREFIX = 2;

export const page: Target = {
  name: 'page',
  codes: ['BLOCK_INVALID'],
  async open() {
    const pages = GOLDEN_CASES.map(
      ({ name }) => new Uint8Array(readFileSync(new URL(`${name}.page.bin`, FOLDER))),
    );
    const plans = GOLDEN_CASES.map(
      (golden) => goldenPlan(golden).layers[0]?.key as PackedTensorPlan,
    );
    return {
      mutant(random) {
        const number = random.below(GOLDEN_CASES.length);
        const { validTokens = 0 } = GOLDEN_CASES[number] ?? {};
        const tokens = random.chance(0.1) ? random.below(256) : validTokens;
        const bytes = mutateBytes(random, pages[number] ?? new Uint8Array());
        return joined(Uint8Array.of(number, tokens), bytes);
      },
      async check(mutant) {
        const [number = 0, tokens = 0] = mutant;
        const bytes = mutant.slice(PREFIX);
        const plan = plans[number % plans.length] as PackedTensorPlan;
        validatePage(plan, bytes, tokens);
        const canonical = bytes.slice();
        canonicalizePage(plan.layout, canonical, tokens);
        mustHold(Buffer.compare(canonical, bytes) === 0, 'a page that is not canonical');
        const values = new Float32Array(tokens * plan.headDim);
        for (let head = 0; head < plan.heads; head++) {
          decodeTokens(plan, bytes, head, 0, tokens, values);
          mustHold(values.every(Number.isFinite), `head ${head} decodes to what is not finite`);
        }
        if (tokens > 0) {
          const last = { head: 0, slot: tokens - 1, channel: plan.headDim - 1 };
          for (const element of [{ head: 0, slot: 0, channel: 0 }, last])
            mustHold(storedGroup(plan, bytes, tokens, element).values.length > 0, 'group');
          mustHold(codeLevels(plan, bytes, last)?.length !== 0, 'levels');
        }
      },
    };
  },
};
