// Tokens one by one: what is told is what a cache does.
import {
  createCache,
  createPlan,
  f16Tensor,
  type PageClass,
  referenceBackend,
} from '@lowbit-kv/core';
import { lcgNormal } from '@lowbit-kv/core/testing';
import { innerqBase } from '@lowbit-kv/scheme-innerq';
import { kivi2 } from '@lowbit-kv/scheme-kivi';
import { expect, it } from 'vitest';
import { nextPack, windowStep } from '../src/run/window-states.js';

it.each([kivi2, innerqBase])('$id', async (scheme) => {
  const plan = createPlan(scheme, {
    layers: 1,
    queryHeads: 1,
    kvHeads: 1,
    keyHeadDim: 32,
    valueHeadDim: 32,
  });
  const cache = await createCache(plan, referenceBackend(), { capacity: { tokens: 300 } });
  const sequence = cache.createSequence();
  let packs = 0;
  for (let length = 1; length <= 300; length++) {
    const token = f16Tensor(
      lcgNormal({ seed: length, shape: [1, 1, 32], dtype: 'f16' }),
      [1, 1, 32],
    );
    await cache.append([{ sequence, tokens: 1 }], [{ key: token, value: token }]);
    const held = (await cache.stats()).sequences[0]?.classes ?? [];
    for (const [i, { sinks, packed, tail }] of held.entries()) {
      const rule = plan.classes[i] as PageClass;
      const step = windowStep(rule, length);
      expect(step).toMatchObject({ sinks, packed, tail });
      if (step.event !== '') {
        packs++;
        expect(nextPack(rule, length - 1)).toBe(length);
      }
    }
  }
  expect(packs).toBeGreaterThan(1);
  cache.dispose();
});

it('of tokens that stay f16 nothing is packed next', () => {
  const rule = { sinks: 0, recent: 0, flush: 0, statisticsTokens: 0 } as PageClass;
  expect(windowStep(rule, 40)).toMatchObject({ packed: 0, tail: 40, next: null, event: '' });
});
