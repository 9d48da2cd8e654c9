// Case cache-empty-past-first-step: a sequence without a past, and steps that bring no new token.
import { expect, it } from 'vitest';
import { type Cache, f16Tensor, type Sequence } from '../../src/index.js';
import { tokenIdRange } from '../../src/testing/index.js';
import { exactSchemes } from '../support/exact-schemes.js';
import {
  appendIds,
  ask,
  expectContents,
  expectMean,
  expectMean32,
  openCache,
  pointerInput,
} from '../support/pointer-cache.js';
import { loadCase } from '../testing/load-case.js';

interface Input {
  steps: { new: number }[];
  shape: { Hq: number; Hk: number; D: number };
}
interface Expected {
  lengths: number[];
  zeroQueryMean32: number[][];
}
const { input, expected } = loadCase<Input, Expected>('cache-empty-past-first-step');
const geometry = {
  queryHeads: input.shape.Hq,
  kvHeads: input.shape.Hk,
  keyHeadDim: input.shape.D,
  valueHeadDim: input.shape.D,
};

/** The ways in which a past can be empty. */
const pasts: Record<string, (cache: Cache) => Promise<Sequence>> = {
  new: async (cache) => cache.createSequence(),
  'attended while empty': async (cache) => {
    const sequence = cache.createSequence();
    const { output, logSumExp } = await ask(cache, sequence, null);
    expect([...output].every((value) => value === 0)).toBe(true);
    expect([...Array.from(logSumExp)]).toEqual(Array(4).fill(Number.NEGATIVE_INFINITY));
    return sequence;
  },
  'a step with tensors of no rows': async (cache) => {
    const sequence = cache.createSequence();
    const step = cache.step([{ sequence, tokens: 0 }]);
    const none = f16Tensor(new Uint16Array(0), [0, input.shape.Hk, input.shape.D]);
    step.append(0, none, none);
    await step.commit();
    return sequence;
  },
  reset: async (cache) => {
    const sequence = cache.createSequence();
    await appendIds(cache, sequence, tokenIdRange(900, 77));
    cache.reset(sequence);
    return sequence;
  },
  'truncated to nothing': async (cache) => {
    const sequence = cache.createSequence();
    await appendIds(cache, sequence, tokenIdRange(900, 77));
    cache.truncate(sequence, 0);
    return sequence;
  },
};

const rows = [...exactSchemes(), ...exactSchemes({ residual: 2, sinks: 2 })].flatMap((named) =>
  Object.keys(pasts).map((past) => ({ ...named, past })),
);

it.each(rows)('$past: $name', async ({ scheme, past }) => {
  const cache = await openCache(scheme, geometry);
  const sequence = await (pasts[past] as (typeof pasts)[string])(cache);
  const widths = new Set<number>();
  for (const [i, { new: count }] of input.steps.entries()) {
    const ids = tokenIdRange(sequence.length, count);
    const given = pointerInput(cache, [{ ids }]);
    await cache.append([{ sequence, tokens: count }], [given]);
    // The caller may reuse its buffers: what was appended must not change with them.
    for (const tensor of [given.key, given.value]) tensor.data.fill(0x3c00);
    expect(sequence.length).toBe(expected.lengths[i]);
    await expectContents(cache, sequence, tokenIdRange(0, sequence.length));
    await expectMean32(cache, sequence, expected.zeroQueryMean32[i] as number[]);
    await expectMean(cache, sequence, tokenIdRange(0, sequence.length));
    for (const tensor of ['key', 'value'] as const) {
      for (const block of await cache.exportBlocks(sequence, 0, tensor))
        widths.add(block.bytes.length - (cache.plan.layers[0]?.[tensor].layout?.pageBytes ?? 0));
    }
  }
  expect([...widths].every((excess) => excess === 0)).toBe(true);
  expect(widths.size).toBe(1);
});
