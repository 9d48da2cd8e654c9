/**
 * Plans whose keys and values stay f16, and a program that runs one of them against the reference: several splits, ragged
 * sequences, steps of one and of many queries, a fork, a cut.
 */
import { createPlan, type Geometry, type Plan } from '@lowbit-kv/core';
import { createTwin, F32_ATTENTION } from '@lowbit-kv/core/contract';
import { inlineScheme } from '@lowbit-kv/core/testing';
import { webgpuBackend } from '../../src/index.js';

type Shape = Omit<Geometry, 'layers'> & { readonly packing?: 'after-attention' };

const heads = (queryHeads: number, kvHeads: number, keyHeadDim: number, valueHeadDim: number) => ({
  queryHeads,
  kvHeads,
  keyHeadDim,
  valueHeadDim,
});

const SHAPES = {
  '64, one query head to a kv head': heads(3, 3, 64, 64),
  '96, four query heads, out of the input': { ...heads(8, 2, 96, 96), packing: 'after-attention' },
  '128, six query heads, sliding': {
    ...heads(12, 2, 128, 128),
    slidingWindow: { size: 41, sinks: 3 },
  },
  '256, eight query heads, soft cap': { ...heads(8, 1, 256, 256), softCap: 3 },
  'keys 192, values 128': heads(4, 2, 192, 128),
  'keys 40, values 24, sliding out of the input': {
    ...heads(4, 2, 40, 24),
    slidingWindow: { size: 37, sinks: 0 },
    packing: 'after-attention',
  },
  'keys 16, values 256': heads(2, 1, 16, 256),
} satisfies Record<string, Shape>;

export type HalfPlan = keyof typeof SHAPES;

export const HALF_PLANS = Object.keys(SHAPES) as HalfPlan[];

export function halfPlan(name: HalfPlan): Plan {
  const { packing, ...geometry }: Shape = SHAPES[name];
  const f16 = { bits: 16 } as const;
  const parts = { key: f16, value: f16, ...(packing && { packing }) };
  return createPlan(inlineScheme(parts), { layers: 1, ...geometry });
}

export async function runHalfPlan(device: GPUDevice, name: HalfPlan): Promise<void> {
  const backend = webgpuBackend({ device });
  const twin = await createTwin(halfPlan(name), backend, { tolerances: F32_ATTENTION });
  try {
    const [long, short] = [twin.createPair(), twin.createPair()];
    await twin.grow(long, 290);
    await twin.step([
      { pair: long, tokens: 7 },
      { pair: short, tokens: 45 },
    ]);
    await twin.step([
      { pair: long, tokens: 1 },
      { pair: short, tokens: 1 },
    ]);
    const fork = twin.fork(short);
    await twin.step([{ pair: fork, tokens: 2 }]);
    // A window has let go of what a deeper cut, or an older query, would see.
    const slides = 'slidingWindow' in SHAPES[name];
    twin.truncate(long, slides ? 297 : 135);
    await twin.attend([long, fork], [slides ? 1 : 3, 1]);
  } finally {
    twin.dispose();
    backend.dispose();
  }
}
