/**
 * A layer planned by itself packs the bytes that it has in the whole model.
 */
import { describe, expect, it } from 'vitest';
import {
  createCache,
  createPlan,
  defineScheme,
  f16Tensor,
  referenceBackend,
  singleLayerPlan,
} from '../../src/index.js';
import { asymmetric, createDraws, inlineScheme, roundOnceToF16 } from '../../src/testing/index.js';

const GEOMETRY = { layers: 3, queryHeads: 4, kvHeads: 2, keyHeadDim: 32, valueHeadDim: 32 };
const TOKENS = 150;
const scheme = defineScheme({
  ...inlineScheme({
    key: asymmetric(2, 'tokens', 32),
    value: asymmetric(4, 'channels', 16),
  }),
  overrides: [
    { layers: [1], key: asymmetric(4, 'tokens', 16), value: { bits: 16 } },
    { layers: [2], heads: [1], value: asymmetric(8, 'channels', 32) },
  ],
});

function drawn(seed: number) {
  const draws = createDraws(seed);
  const bits = Uint16Array.from({ length: TOKENS * 2 * 32 }, () =>
    roundOnceToF16(draws() / 512 - 4),
  );
  return f16Tensor(bits, [TOKENS, 2, 32]);
}
const inputs = [0, 1, 2].map((layer) => ({ key: drawn(layer), value: drawn(layer + 10) }));

async function blocksOf(plan: ReturnType<typeof createPlan>, layer: number, given: typeof inputs) {
  const cache = await createCache(plan, referenceBackend(), { capacity: { tokens: TOKENS } });
  const sequence = cache.createSequence();
  await cache.append([{ sequence, tokens: TOKENS }], given);
  const blocks = [];
  for (const tensor of ['key', 'value'] as const)
    blocks.push(...(await cache.exportBlocks(sequence, layer, tensor)));
  const { key, value } = await cache.materialize(sequence, layer);
  cache.dispose();
  return { blocks, key, value };
}

describe('singleLayerPlan', () => {
  const plan = createPlan(scheme, GEOMETRY);

  it.each([0, 1, 2])('packs layer %i as the whole plan does', async (layer) => {
    const whole = await blocksOf(plan, layer, inputs);
    const own = inputs[layer] as (typeof inputs)[number];
    const single = await blocksOf(singleLayerPlan(plan, layer), 0, [own]);
    expect(whole.blocks.length).toBeGreaterThan(0);
    expect(single).toEqual(whole);
  });

  it('evicts nothing where the layer has a sliding window', async () => {
    const sliding = createPlan(scheme, { ...GEOMETRY, slidingWindow: { size: 40, sinks: 0 } });
    const own = inputs[0] as (typeof inputs)[number];
    const whole = await blocksOf(sliding, 0, inputs);
    const single = await blocksOf(singleLayerPlan(sliding, 0), 0, [own]);
    expect(whole.key.shape[0]).toBeLessThan(TOKENS);
    expect(single.key.shape[0]).toBe(TOKENS);
    const width = 2 * 32;
    const kept = whole.key.data as Float32Array;
    expect((single.key.data as Float32Array).subarray(TOKENS * width - kept.length)).toEqual(kept);
  });

  it('has a fingerprint of its own', () => {
    const prints = [0, 1, 2].map((layer) => singleLayerPlan(plan, layer).fingerprint);
    expect(new Set([plan.fingerprint, ...prints]).size).toBe(4);
  });

  it('refuses a layer that does not exist', () => {
    expect(() => singleLayerPlan(plan, 3)).toThrow(/OPTION_INVALID.*got 3; valid: 0 to 2/);
  });
});
