// Statistics of sequences that no kernel measures: a step that asks for them is refused, whatever packs the tensor.
import {
  type AppendJob,
  createPlan,
  f16Tensor,
  type Span,
  type TensorScheme,
  type TensorWork,
} from '@lowbit-kv/core';
import { asymmetric, inlineScheme, symmetric } from '@lowbit-kv/core/testing';
import { expect, it } from 'vitest';
import { kernelsOf } from '../src/support.js';
import { fakeBackend } from './support/fake-backend.js';
import { errorOf } from './support/open-fake.js';
import { FACTORS } from './support/pack/instances.js';
import { STUBS } from './support/stub-kernels.js';

const HEADS = 2;
const DIM = 128;
const TOKENS = 32;

const values = asymmetric(4, 'channels', 32);
const measured = {
  ...symmetric(3, 'full', 'channels', 32, { recent: 40, flush: 32 }),
  transforms: [FACTORS],
};
const plain = symmetric(3, 'fullSigned', 'tokens', 32, { recent: 40, flush: 32 });

/** Appends with statistics of the keys; gives the kernels that ran. */
async function append(key: TensorScheme, value: TensorScheme, speed: 'bandwidth' | 'general') {
  const plan = createPlan(
    inlineScheme({ key, value }),
    { layers: 1, queryHeads: HEADS, kvHeads: HEADS, keyHeadDim: DIM, valueHeadDim: DIM },
    { blockTokens: 128 },
  );
  expect(kernelsOf(plan.layers[0]!).speed).toBe(speed);
  const kernels: string[] = [];
  const recorded = STUBS.map((kernel) => ({
    ...kernel,
    run: () => void kernels.push(kernel.name),
  }));
  const { fake, backend } = fakeBackend(recorded);
  const { context } = await backend.open();
  const pages = plan.classes.map(() => ({ packed: 2, window: 2, statistics: 1 }));
  const store = await backend.createStore(plan, { pages, nonFinite: 'mask' });
  const rows = f16Tensor(new Uint16Array(TOKENS * HEADS * DIM), [TOKENS, HEADS, DIM]);
  const none: TensorWork = { copies: [], statistics: [], writes: [], packs: [] };
  const sources: Span[] = [{ source: 'input', page: 0, slot: 0, position: 0, count: TOKENS }];
  const job: AppendJob = {
    ...{ step: 0, layer: 0, key: rows, value: rows, rows: [] },
    work: { key: { ...none, statistics: [{ page: 0, sources }] }, value: none },
  };
  try {
    store.append(job);
    context.synchronize();
    return kernels;
  } finally {
    store.forget(0);
    store.dispose();
    backend.dispose();
    expect(fake.leaks()).toEqual([]);
  }
}

it.each([
  ['packed by a kernel of its own', asymmetric(4, 'tokens', 32), values, 'bandwidth'],
  ['packed by general kernels', asymmetric(8, 'tokens', 32), values, 'general'],
  ['f16', { bits: 16 }, values, 'general'],
] as const)('of a tensor that is %s', async (_, key, value, speed) => {
  expect(await errorOf(() => append(key, value, speed))).toMatchObject({
    code: 'PLAN_REFUSED',
    summary: 'nothing measures the statistics that a step asks for',
    value: 'bits' in key && key.bits === 16 ? 'a tensor that stays f16' : [],
    valid: 'tensors with a transform that is measured on the sequence',
    next: expect.stringContaining('the plan that its steps are made from'),
    where: { tensor: 'key' },
  });
});

it.each([
  ['packed by a kernel of its own', measured, plain, 'bandwidth'],
  ['packed by general kernels', measured, { bits: 16 }, 'general'],
] as const)('are measured where the plan takes them: %s', async (_, key, value, speed) => {
  const kernels = await append(key, value, speed);
  expect(kernels.slice(0, 2)).toEqual(['general_gather', 'general_measure']);
});
