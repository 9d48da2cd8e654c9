// Callers reuse what they pass: entries of a step and f16 buffers may change as soon as the call returns.
import { expect, it } from 'vitest';
import { createCache, createPlan, f16Tensor, referenceBackend } from '../../src/index.js';
import { tokenIdRange } from '../../src/testing/index.js';
import {
  appendIds,
  expectPattern,
  GEOMETRY,
  openCache,
  pointerInput,
} from '../support/pointer-cache.js';
import { scheme, tokenKeys } from '../support/schemes.js';

it('entries of an open step', async () => {
  const cache = await openCache(tokenKeys());
  const [sequence, other] = [cache.createSequence(), cache.createSequence()];
  const entry = { sequence, tokens: 5 };
  const entries = [entry];
  const step = cache.step(entries);
  entry.tokens = 1;
  entry.sequence = other;
  entries.length = 0;
  const { key, value } = pointerInput(cache, [{ ids: tokenIdRange(0, 5) }]);
  step.append(0, key, value);
  await step.commit();
  expect([sequence.length, other.length]).toEqual([5, 0]);
  await appendIds(cache, sequence, tokenIdRange(5, 3));
  for (const id of tokenIdRange(0, 8)) await expectPattern(cache, sequence, id);
});

it.each(['after-attention', 'before-attention'] as const)(
  'f16 keys and values between append and attend (%s)',
  async (packing) => {
    const outputs: Float32Array[] = [];
    for (const reuse of [false, true]) {
      const cache = await createCache(
        createPlan(scheme({ packing, key: { recent: 2 } }), GEOMETRY),
        referenceBackend(),
        { capacity: { tokens: 64 } },
      );
      const step = cache.step([{ sequence: cache.createSequence(), tokens: 9 }]);
      const { key, value } = pointerInput(cache, [{ ids: tokenIdRange(0, 9) }]);
      step.append(0, key, value);
      if (reuse) for (const tensor of [key, value]) tensor.data.fill(0);
      const result = step.attend(0, f16Tensor(new Uint16Array(9 * 128).fill(0x3800), [9, 2, 64]));
      outputs.push((await result.read()).output.data as Float32Array);
      await step.commit();
    }
    expect(outputs[1]).toEqual(outputs[0]);
    expect(outputs[0]?.some((x) => x !== 0)).toBe(true);
  },
);
