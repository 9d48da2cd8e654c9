// Decode steps as graphs: captured once, replayed while sequences grow, against the reference.
import {
  createCache,
  createPlan,
  f16Tensor,
  f32ToF16,
  type Plan,
  referenceBackend,
  type Tensor,
} from '@lowbit-kv/core';
import { asymmetric, createDraws, inlineScheme } from '@lowbit-kv/core/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CapturedStep, cudaTensor, DeviceMemory } from '../src/index.js';
import { APPEND_INSTANCES } from '../src/instances.js';
import { fakeBackend } from './support/fake-backend.js';
import { buildHostKernels, type HostKernels } from './support/host/host-kernels.js';
import { errorOf } from './support/open-fake.js';
import { compiler } from './support/pack/host-program.js';

/** Of the plan of these tests. */
const APPENDING = 'append_k4t32z_d128_v4c32z_d128';
const KV_HEADS = 2;
const QUERY_HEADS = 4;
const DIM = 128;
const LAYERS = 2;

/** New tokens of a sequence in a step at most. */
const STEP_TOKENS = 9;

function planOf(
  flush = 32,
  packing: 'after-attention' | 'before-attention' = 'after-attention',
): Plan {
  const scheme = inlineScheme({
    key: asymmetric(4, 'tokens', 32, { recent: 0, flush }),
    value: asymmetric(4, 'channels', 32, { recent: 20, flush: 1 }),
    packing,
  });
  const shape = { layers: LAYERS, queryHeads: QUERY_HEADS, kvHeads: KV_HEADS };
  return createPlan(scheme, { ...shape, keyHeadDim: DIM, valueHeadDim: DIM }, { blockTokens: 128 });
}

const draw = createDraws(5);
const halves = (count: number) =>
  Uint16Array.from({ length: count }, () => f32ToF16((draw() - 2048) / 1000));

describe.skipIf(compiler === undefined)('captured steps', () => {
  let host: HostKernels;

  beforeAll(() => {
    host = buildHostKernels(APPEND_INSTANCES.filter(({ name }) => name === APPENDING));
  }, 120_000);

  afterAll(() => host.remove());

  /** Caches of the reference and of the card that hold sequences of equal tokens, and device memory for the rows of steps. */
  async function setUp(
    plan: Plan,
    lengths: readonly number[],
    nonFinite: 'error' | 'mask' = 'error',
  ) {
    const { fake, backend, launches } = fakeBackend(host.kernels);
    const { context } = await backend.open();
    const options = { capacity: { sequences: 4, tokens: 1600 }, nonFinite };
    const caches = [
      await createCache(plan, referenceBackend(), options),
      await createCache(plan, backend, options),
    ] as const;
    const sequences = lengths.map(() => caches.map((cache) => cache.createSequence()));
    for (const [i, length] of lengths.entries()) {
      const rows = Array.from({ length: LAYERS }, () =>
        [0, 1].map(() => f16Tensor(halves(length * KV_HEADS * DIM), [length, KV_HEADS, DIM])),
      );
      for (const [side, cache] of caches.entries())
        await cache.append(
          [{ sequence: sequences[i]![side]!, tokens: length }],
          rows.map(([key, value]) => ({ key: key!, value: value! })),
        );
    }
    const memory = (elements: number, bytes: number) =>
      DeviceMemory.allocate(context, bytes * lengths.length * STEP_TOKENS * elements);
    const layers = Array.from({ length: LAYERS }, () => ({
      key: memory(KV_HEADS * DIM, 2),
      value: memory(KV_HEADS * DIM, 2),
      query: memory(QUERY_HEADS * DIM, 2),
      output: memory(QUERY_HEADS * DIM, 4),
    }));
    const given = (range: DeviceMemory, type: 'f16' | 'f32', rows: number, heads: number) =>
      cudaTensor(range.all, { type, shape: [rows, heads, DIM] });

    /** So many tokens for each of these sequences, on both sides; worst difference of outputs. */
    async function step(
      captured: CapturedStep,
      active: readonly number[],
      spoil?: (values: Uint16Array) => void,
      tokens = 1,
    ) {
      const rows = active.length * tokens;
      const data = layers.map(() => ({
        key: halves(rows * KV_HEADS * DIM),
        value: halves(rows * KV_HEADS * DIM),
        query: halves(rows * QUERY_HEADS * DIM),
      }));
      spoil?.(data[1]!.value);
      for (const [layer, { key, value, query }] of data.entries()) {
        layers[layer]!.key.all.upload(new Uint8Array(key.buffer));
        layers[layer]!.value.all.upload(new Uint8Array(value.buffer));
        layers[layer]!.query.all.upload(new Uint8Array(query.buffer));
      }
      const entries = (side: number) =>
        active.map((i) => ({ sequence: sequences[i]![side]!, tokens }));
      const taken = caches[1].step(entries(1));
      let replayed = false;
      try {
        captured.run(({ replays }) => {
          replayed = replays;
          for (const [layer, { key, value, query, output }] of layers.entries()) {
            taken.append(
              layer,
              given(key, 'f16', rows, KV_HEADS),
              given(value, 'f16', rows, KV_HEADS),
            );
            const into = { output: given(output, 'f32', rows, QUERY_HEADS) };
            taken.attend(layer, given(query, 'f16', rows, QUERY_HEADS), { into });
          }
        });
        await taken.commit();
      } finally {
        taken.abandon();
      }
      const wanted = caches[0].step(entries(0));
      let worst = 0;
      for (const [layer, { key, value, query }] of data.entries()) {
        const tensor = (bits: Uint16Array, heads: number): Tensor =>
          f16Tensor(bits, [rows, heads, DIM]);
        wanted.append(layer, tensor(key, KV_HEADS), tensor(value, KV_HEADS));
        const { output } = await wanted.attend(layer, tensor(query, QUERY_HEADS)).read();
        const actual = new Float32Array(layers[layer]!.output.all.download().slice().buffer);
        for (const [i, value] of (output.data as Float32Array).entries())
          worst = Math.max(worst, Math.abs(actual[i]! - value));
      }
      await wanted.commit();
      return { worst, replayed };
    }

    function dispose() {
      for (const cache of caches) cache.dispose();
      for (const layer of layers) for (const range of Object.values(layer)) range.dispose();
      backend.dispose();
      expect(fake.leaks()).toEqual([]);
    }

    return { fake, backend, caches, launches, sequences, step, dispose };
  }

  it('are replayed over pages that fill, open and are packed', async () => {
    const { fake, backend, step, dispose } = await setUp(planOf(), [118, 250, 5]);
    const captured = await backend.captureStep({ rows: 3, tokens: 1600 });
    for (let count = 0; count < 34; count++) {
      // Sequences pause, so that batches are ragged.
      const active = [0, 1, 2].filter((i) => i !== 1 || count % 3 !== 1);
      const launches = fake.count('cuLaunchKernelEx');
      const { worst, replayed } = await step(captured, active);
      expect(worst).toBeLessThan(1e-5);
      expect(replayed).toBe(count > 0);
      if (count > 0) expect(fake.count('cuLaunchKernelEx')).toBe(launches);
    }
    expect(fake.count('cuGraphLaunch')).toBe(34);
    captured.dispose();
    dispose();
  });

  it.each([
    ['after-attention', 2, 'rows_k4t32z_v4c32z_d128_r16'],
    ['before-attention', 9, 'rows_k4t32z_v4c32z_d128_r32'],
  ] as const)('take several tokens of a sequence, packed %s', async (packing, first, kernel) => {
    const { backend, launches, step, dispose } = await setUp(planOf(32, packing), [118, 250, 5]);
    const captured = await backend.captureStep({ rows: 27, tokens: 1600 });
    for (const tokens of [first, 9, 1, 4, 9, 8]) {
      const { worst } = await step(captured, [0, 1, 2], undefined, tokens);
      expect(worst).toBeLessThan(1e-5);
    }
    expect(launches.get(kernel)?.length).toBe(6 * LAYERS);
    captured.dispose();
    dispose();
  });

  it('report what is not finite, and go on', async () => {
    const { backend, step, dispose } = await setUp(planOf(), [40, 3]);
    const captured = await backend.captureStep({ rows: 2, tokens: 1600 });
    await step(captured, [0, 1]);
    const spoil = (value: Uint16Array) => {
      value[KV_HEADS * DIM + 130] = 0x7c00;
    };
    const error = await errorOf(() => step(captured, [0, 1], spoil));
    expect(error).toMatchObject({
      code: 'NON_FINITE',
      where: { tensor: 'value', layer: 1, sequence: 1, head: 1, token: 4, channel: 2 },
    });
    expect((await step(captured, [0, 1])).worst).toBeLessThan(1e-5);
    captured.dispose();
    dispose();
  });

  it('refuse steps that differ, and host memory', async () => {
    const { backend, caches, sequences, step, dispose } = await setUp(planOf(), [40, 3]);
    const captured = await backend.captureStep({ rows: 2, tokens: 1600 });
    await step(captured, [0, 1]);
    const launches = (work: (taken: ReturnType<(typeof caches)[1]['step']>) => void) => {
      const taken = caches[1].step([{ sequence: sequences[0]![1]!, tokens: 1 }]);
      return errorOf(() => {
        try {
          captured.run(() => work(taken));
        } finally {
          taken.abandon();
        }
      });
    };
    expect(await launches(() => undefined)).toMatchObject({
      code: 'STEP_STATE',
      value: 'fewer jobs',
    });
    const row = f16Tensor(halves(KV_HEADS * DIM), [1, KV_HEADS, DIM]);
    const error = await launches((taken) => taken.append(0, row, row));
    expect(error).toMatchObject({
      code: 'STEP_STATE',
      value: 'keys that are not read where they are',
    });
    expect((await step(captured, [0, 1])).worst).toBeLessThan(1e-5);
    captured.dispose();
    dispose();
  });

  it.each([0, 1.5, Number.NaN])('refuse %d rows', async (rows) => {
    const { backend } = fakeBackend(host.kernels);
    expect((await errorOf(() => backend.captureStep({ rows, tokens: 5 }))).code).toBe(
      'OPTION_INVALID',
    );
    backend.dispose();
  });
});
