// Case onnx-reference-parity on the reference backend: one past and one new token, small enough for a hand.
import { describe, expect, it } from 'vitest';
import {
  type Backend,
  type Cache,
  createCache,
  createPlan,
  f32Tensor,
  type HostTensor,
  LowbitKvError,
  referenceBackend,
  type Scheme,
} from '../../src/index.js';
import { maxAbsDifference } from '../../src/testing/index.js';
import { scheme } from '../support/schemes.js';
import { loadCase } from '../testing/load-case.js';

interface Input {
  D: number;
  q: number[];
  pastK: number[][];
  pastV: number[][];
  newK: number[][];
  newV: number[][];
  scale: number;
}
interface Expected {
  weights: [number, number];
  output: number[];
  presentLength: number;
  presentK: number[][];
  tolerance: number;
}
const { input, expected } = loadCase<Input, Expected>('onnx-reference-parity');
const row = (values: number[][]): HostTensor =>
  f32Tensor(Float32Array.from(values.flat()), [values.length, 1, input.D]);
const query = row([input.q]);

/** Sign-magnitude keys and affine values hold these numbers exactly. */
const schemes: Record<string, Scheme> = {
  f16: scheme({ id: 'f16', key: { bits: 16 }, value: { bits: 16 } }),
  'packed after attention': scheme({
    key: { bits: 2, along: 'vector', codes: 'signmag' },
    value: { bits: 2, along: 'vector' },
  }),
  'packed before attention': scheme({
    packing: 'before-attention',
    key: { bits: 2, along: 'vector', codes: 'signmag' },
    value: { bits: 2, along: 'vector' },
  }),
};

/** Pages full of NaN, so that anything read past the length shows. */
const poisoned: Backend = {
  ...referenceBackend(),
  createStore: async (plan, options) => {
    const store = await referenceBackend().createStore(plan, options);
    const counts = options.pages[0]?.window ?? 0;
    const pages = Array.from({ length: counts }, (_, i) => i);
    const bytes = new Uint8Array(counts * (plan.layers[0]?.key.windowPageBytes ?? 0)).fill(0xff);
    for (const tensor of ['key', 'value'] as const)
      await store.writePages({ layer: 0, tensor, kind: 'window', pages }, bytes);
    return store;
  },
};

const forms: Record<string, { backend: Backend; tokens: number }> = {
  'past as length 1': { backend: referenceBackend(), tokens: 2 },
  'capacity 8, the rest NaN': { backend: poisoned, tokens: 8 },
};

async function open(spec: Scheme, form: { backend: Backend; tokens: number }): Promise<Cache> {
  const plan = createPlan(spec, {
    layers: 1,
    queryHeads: 1,
    kvHeads: 1,
    keyHeadDim: input.D,
    valueHeadDim: input.D,
    scale: input.scale,
  });
  return createCache(plan, form.backend, { capacity: { tokens: form.tokens } });
}

describe.each(Object.keys(schemes))('%s', (name) => {
  it.each(Object.keys(forms))('%s', async (form) => {
    const cache = await open(schemes[name] as Scheme, forms[form] as (typeof forms)[string]);
    const sequence = cache.createSequence();
    const past = { key: row(input.pastK), value: row(input.pastV) };
    await cache.append([{ sequence, tokens: 1 }], [past]);
    const step = cache.step([{ sequence, tokens: 1 }]);
    step.append(0, row(input.newK), row(input.newV));
    const inside = await step.attend(0, query).read();
    // The caller may write the result where the past came from.
    past.key.data.set(inside.output.data);
    past.value.data.set(inside.output.data);
    await step.commit();
    const outside = await cache.attend(0, query, [sequence], { logSumExp: true }).read();
    for (const { output } of [inside, outside])
      expect(maxAbsDifference(output.data, expected.output)).toBeLessThanOrEqual(
        expected.tolerance,
      );
    const logSumExp = outside.logSumExp?.data[0] ?? Number.NaN;
    expect(Math.exp(4 - logSumExp)).toBeCloseTo(expected.weights[0], 6);
    expect(Math.exp(0 - logSumExp)).toBeCloseTo(expected.weights[1], 6);
    expect(sequence.length).toBe(expected.presentLength);
    const stored = await cache.materialize(sequence, 0);
    expect([...Array.from(stored.key.data)]).toEqual(expected.presentK.flat());
    expect([...Array.from(stored.value.data)]).toEqual([...input.pastV, ...input.newV].flat());
  });
});

it('a past is not ignored when nothing of it is asked for', async () => {
  const cache = await open(schemes.f16 as Scheme, { backend: referenceBackend(), tokens: 2 });
  const sequence = cache.createSequence();
  const step = cache.step([{ sequence, tokens: 2 }]);
  step.append(0, row([...input.pastK, ...input.newK]), row([...input.pastV, ...input.newV]));
  const { output, logSumExp } = await step.attend(0, query, { queries: [1] }).read();
  expect(logSumExp).toBeUndefined();
  expect(maxAbsDifference(output.data, expected.output)).toBeLessThanOrEqual(expected.tolerance);
  step.abandon();
  expect(() => step.attend(0, query)).toThrow(LowbitKvError);
});
