// Driver calls of a decode step outside of a graph: one launch for the append of a layer, one for its attention, tables once a step.
import { createCache, createPlan, f16Tensor } from '@lowbit-kv/core';
import { asymmetric, inlineScheme, symmetric } from '@lowbit-kv/core/testing';
import { describe, expect, it } from 'vitest';
import { cudaTensor, DeviceMemory } from '../src/index.js';
import { fakeBackend } from './support/fake-backend.js';
import { STUBS } from './support/stub-kernels.js';

const LAYERS = 4;
const KV_HEADS = 2;
const DIM = 128;
const SEQUENCES = 3;

const PLANS = {
  'values pack in every step, keys in some': {
    key: asymmetric(4, 'tokens', 32, { recent: 0, flush: 32 }),
    value: asymmetric(4, 'channels', 32, { recent: 20, flush: 1 }),
  },
  'both pack at once': {
    key: symmetric(4, 'full', 'channels', 32, { recent: 32, flush: 32 }),
    value: symmetric(4, 'full', 'tokens', 32, { recent: 32, flush: 32 }),
  },
};

describe.each(Object.entries(PLANS))('%s', (_, tensors) => {
  const shape = { layers: LAYERS, queryHeads: 4, kvHeads: KV_HEADS, keyHeadDim: DIM };
  const scheme = inlineScheme({ ...tensors, packing: 'after-attention' });
  const plan = createPlan(scheme, { ...shape, valueHeadDim: DIM }, { blockTokens: 128 });

  it.each(['error', 'mask'] as const)('nonFinite: %s', async (nonFinite) => {
    const { fake, backend } = fakeBackend(STUBS);
    const { context } = await backend.open();
    const capacity = { sequences: SEQUENCES, tokens: 1024 };
    const cache = await createCache(plan, backend, { capacity, nonFinite });
    const sequences = Array.from({ length: SEQUENCES }, () => cache.createSequence());
    const prompt = f16Tensor(new Uint16Array(70 * KV_HEADS * DIM), [70, KV_HEADS, DIM]);
    for (const sequence of sequences) {
      const layers = Array.from({ length: LAYERS }, () => ({ key: prompt, value: prompt }));
      await cache.append([{ sequence, tokens: 70 }], layers);
    }
    const memory = DeviceMemory.allocate(context, 4 * SEQUENCES * 4 * DIM);
    const given = (type: 'f16' | 'f32', heads: number) =>
      cudaTensor(memory.all, { type, shape: [SEQUENCES, heads, DIM] });
    const rows = given('f16', KV_HEADS);
    let packs = 0;
    for (let count = 0; count < 40; count++) {
      const step = cache.step(sequences.map((sequence) => ({ sequence, tokens: 1 })));
      const calls = context.run(() =>
        Array.from({ length: LAYERS }, (_, layer) => {
          fake.takeCalls();
          step.append(layer, rows, rows);
          step.attend(layer, given('f16', 4), { into: { output: given('f32', 4) } });
          return fake.takeCalls();
        }),
      );
      // The first layer brings the tables.
      const uploads = calls[0]!.filter((call) => call.startsWith('cuMemcpy')).length;
      expect(uploads).toBeLessThanOrEqual(4);
      for (const later of calls.slice(1))
        expect(later).toEqual(['cuLaunchKernelEx', 'cuLaunchKernelEx']);
      await step.commit();
      packs += (await cache.stats()).sequences[0]!.classes[0]!.packed;
    }
    expect(packs).toBeGreaterThan(0);
    cache.dispose();
    memory.dispose();
    backend.dispose();
    expect(fake.leaks()).toEqual([]);
  });
});
