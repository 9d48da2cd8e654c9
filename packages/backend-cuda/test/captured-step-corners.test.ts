// Captured steps that differ from the recorded one, and what becomes of them and of the flags of their tensors.
import {
  createCache,
  createPlan,
  f16Tensor,
  type Geometry,
  type Plan,
  type Sequence,
} from '@lowbit-kv/core';
import { asymmetric, inlineScheme } from '@lowbit-kv/core/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CapturedStep, cudaTensor, DeviceMemory } from '../src/index.js';
import { type FakeBackend, fakeBackend } from './support/fake-backend.js';
import { buildHostKernels, type HostKernels } from './support/host/host-kernels.js';
import { errorOf } from './support/open-fake.js';
import { compiler } from './support/pack/host-program.js';

const HEADS = 2;
const DIM = 128;
const WIDTH = HEADS * DIM;
const ROWS = 4;
const INFINITE = 0x7c00;

function planOf(change: Partial<Geometry> = {}): Plan {
  const scheme = inlineScheme({
    key: asymmetric(4, 'tokens', 32, { recent: 40, flush: 32 }),
    value: asymmetric(4, 'channels', 32, { recent: 40, flush: 1 }),
    packing: 'after-attention',
  });
  const shape = {
    layers: 1,
    queryHeads: HEADS,
    kvHeads: HEADS,
    keyHeadDim: DIM,
    valueHeadDim: DIM,
  };
  return createPlan(scheme, { ...shape, ...change }, { blockTokens: 128 });
}

describe.skipIf(compiler === undefined)('captured steps', () => {
  let host: HostKernels;

  beforeAll(() => {
    host = buildHostKernels([]);
  }, 60_000);

  afterAll(() => host.remove());

  async function withBackend(
    body: (opened: FakeBackend, setUp: Awaited<ReturnType<typeof setUpIn>>) => Promise<void>,
  ) {
    const opened = fakeBackend(host.kernels);
    await body(opened, await setUpIn(opened));
    opened.backend.dispose();
    expect(opened.fake.leaks()).toEqual([]);
  }

  async function setUpIn({ backend }: FakeBackend) {
    const { context, pool } = await backend.open();
    const memory = (bytes: number) => {
      const made = DeviceMemory.allocate(context, bytes * ROWS * WIDTH);
      made.all.upload(new Uint8Array(made.bytes));
      return made;
    };
    const [keys, values, queries, output] = [memory(2), memory(2), memory(2), memory(4)] as const;
    const tensor = (from: DeviceMemory, type: 'f16' | 'f32', rows: number) =>
      cudaTensor(from.all, { type, shape: [rows, HEADS, DIM] });
    const options = { capacity: { sequences: 4, tokens: 600 } };
    const newCache = async (plan = planOf()) => {
      const cache = await createCache(plan, backend, options);
      const sequences = Array.from({ length: ROWS }, () => cache.createSequence());
      const layers = plan.layers.length;
      const start = (active: readonly Sequence[]) =>
        cache.step(active.map((sequence) => ({ sequence, tokens: 1 })));
      type Taken = ReturnType<typeof start>;
      const work = (taken: Taken, attended = taken.rows) => {
        for (let layer = 0; layer < layers; layer++) {
          taken.append(layer, tensor(keys, 'f16', taken.rows), tensor(values, 'f16', taken.rows));
          const counts = Array.from({ length: taken.rows }, () => attended / taken.rows);
          const into = { output: tensor(output, 'f32', attended) };
          taken.attend(layer, tensor(queries, 'f16', attended), { queries: counts, into });
        }
      };
      /** One token of these sequences; `attended` query tokens, as many or none. */
      const step = async (captured: CapturedStep, rows: number, attended = rows) => {
        const taken = start(sequences.slice(0, rows));
        try {
          captured.run(() => work(taken, attended));
          await taken.commit();
        } finally {
          taken.abandon();
        }
      };
      return { cache, sequences, start, work, step };
    };
    /** Sets an element of the values of a row. */
    const setValue = (row: number, element: number, bits: number) =>
      values
        .range(2 * (row * WIDTH + element), 2)
        .upload(new Uint8Array(Uint16Array.of(bits).buffer));
    return { context, pool, keys, values, output, tensor, newCache, setValue };
  }

  it('look at the rows of the run, not at those of the recorded one', () =>
    withBackend(async ({ backend }, { newCache, setValue }) => {
      const { step, sequences } = await newCache();
      const captured = await backend.captureStep({ rows: ROWS, tokens: 600 });
      setValue(2, 0, INFINITE);
      await step(captured, 1);
      await step(captured, 2);
      expect(await errorOf(() => step(captured, 4))).toMatchObject({
        code: 'NON_FINITE',
        where: { tensor: 'value', sequence: 2, token: 0, channel: 0 },
      });
      // What lies behind the rows of a run is nobody's.
      await step(captured, 2);
      setValue(2, 0, 0);
      setValue(3, 130, INFINITE);
      expect(await errorOf(() => step(captured, 4))).toMatchObject({
        where: { sequence: 3, head: 1, channel: 2 },
      });
      setValue(3, 130, 0);
      await step(captured, 4);
      expect(sequences.map(({ length }) => length)).toEqual([4, 3, 1, 1]);
    }));

  it('refuse more rows than there was memory for', () =>
    withBackend(async ({ backend, ...opened }, { newCache }) => {
      const { step } = await newCache();
      const captured = await backend.captureStep({ rows: 2, tokens: 600 });
      await step(captured, 2);
      expect(opened.fake.count('cuGraphLaunch')).toBe(1);
      expect((await errorOf(() => step(captured, 3))).code).toBe('STEP_STATE');
      await step(captured, 1);
    }));

  it('attend where the recorded step had no queries, and the other way round', () =>
    withBackend(async ({ backend }, { newCache, setValue, output }) => {
      const { step } = await newCache();
      const captured = await backend.captureStep({ rows: ROWS, tokens: 600 });
      setValue(0, 5, 0x3c00);
      await step(captured, 1, 0);
      await step(captured, 1);
      const seen = () => new Float32Array(output.range(0, 32).download().slice().buffer)[5];
      expect(seen()).toBe(1);
      output.all.upload(new Uint8Array(output.bytes));
      await step(captured, 1, 0);
      expect(seen()).toBe(0);
    }));

  it('refuse other caches than the recorded one, and two steps at once', () =>
    withBackend(async ({ backend }, { newCache }) => {
      const [first, second] = [await newCache(), await newCache()] as const;
      const captured = await backend.captureStep({ rows: ROWS, tokens: 600 });
      await first.step(captured, 2);
      expect(await errorOf(() => second.step(captured, 2))).toMatchObject({
        code: 'STEP_STATE',
        value: 'a step of another cache',
      });
      expect(second.sequences[0]?.length).toBe(0);
      await first.step(captured, 2);
      const both = await backend.captureStep({ rows: ROWS, tokens: 600 });
      const steps = [0, 1].map((i) => first.start([first.sequences[i] as Sequence]));
      const run = () =>
        both.run(() => {
          for (const taken of steps) first.work(taken);
        });
      expect(await errorOf(run)).toMatchObject({ code: 'STEP_STATE', value: 'two steps at once' });
      for (const taken of steps) taken.abandon();
      // Nothing was recorded: another cache may be.
      await second.step(both, 1);
    }));

  it('tell of errors that the work caught, and record nothing then', () =>
    withBackend(async ({ backend, fake }, { newCache, tensor, keys }) => {
      const { start, step, sequences } = await newCache();
      const captured = await backend.captureStep({ rows: ROWS, tokens: 600 });
      const taken = start(sequences.slice(0, 1));
      const host = f16Tensor(new Uint16Array(WIDTH), [1, HEADS, DIM]);
      const run = () =>
        captured.run(() => {
          try {
            taken.append(0, tensor(keys, 'f16', 1), host);
          } catch {
            // As a caller who does not look.
          }
        });
      expect(await errorOf(run)).toMatchObject({ code: 'STEP_STATE' });
      expect(fake.count('cuGraphLaunch')).toBe(0);
      await step(captured, 1);
      expect(sequences[0]?.length).toBe(1);
    }));

  it('refuse work that returns a promise', () =>
    withBackend(async ({ backend, fake }, { newCache }) => {
      const { start, work, step, sequences } = await newCache();
      const captured = await backend.captureStep({ rows: ROWS, tokens: 600 });
      const taken = start(sequences.slice(0, 1));
      const run = () =>
        captured.run(async () => {
          await undefined;
          work(taken);
          throw new Error('of nobody');
        });
      expect((await errorOf(run)).code).toBe('STEP_STATE');
      expect(fake.count('cuGraphLaunch')).toBe(0);
      taken.abandon();
      await step(captured, 1);
    }));

  it('run one open step at a time', () =>
    withBackend(async ({ backend }, { newCache, setValue, context }) => {
      const { start, work, step, sequences } = await newCache();
      const captured = await backend.captureStep({ rows: ROWS, tokens: 600 });
      setValue(0, 3, INFINITE);
      const first = start(sequences.slice(0, 1));
      captured.run(() => work(first));
      context.synchronize();
      setValue(0, 3, 0);
      const second = start(sequences.slice(1, 2));
      expect(await errorOf(() => captured.run(() => work(second)))).toMatchObject({
        code: 'STEP_STATE',
        message: expect.stringContaining('still open'),
      });
      expect((await errorOf(() => first.commit())).code).toBe('NON_FINITE');
      await step(captured, 2);
    }));

  it('are disposed while a step is open, and not used afterwards', () =>
    withBackend(async ({ backend }, { newCache, setValue }) => {
      const { start, work, step, sequences } = await newCache();
      const captured = await backend.captureStep({ rows: ROWS, tokens: 600 });
      const taken = start(sequences.slice(0, 1));
      setValue(0, 3, INFINITE);
      captured.run(() => work(taken));
      captured.dispose();
      setValue(0, 3, 0);
      const next = await backend.captureStep({ rows: ROWS, tokens: 600 });
      const other = start(sequences.slice(1, 2));
      next.run(() => work(other));
      expect((await errorOf(() => taken.commit())).code).toBe('NON_FINITE');
      await other.commit();
      expect((await errorOf(() => step(captured, 1))).code).toBe('DEVICE_RESOURCE_STATE');
      await errorOf(() => next.run(() => next.dispose()));
      await step(next, 1);
    }));

  it('have room for the largest layer, wherever it is', () =>
    withBackend(async ({ backend }, { newCache, context }) => {
      const taken: number[] = [];
      for (const large of [0, 1]) {
        const layerOverrides = [{ layers: [large], queryHeads: 4 * HEADS }];
        const plan = planOf({ layers: 2, layerOverrides });
        const cache = await newCache(plan);
        const memory = DeviceMemory.allocate(context, 4 * 4 * WIDTH);
        memory.all.upload(new Uint8Array(memory.bytes));
        const free = context.memory().free;
        const captured = await backend.captureStep({ rows: ROWS, tokens: 600 });
        const step = cache.start(cache.sequences.slice(0, 1));
        captured.run(() => {
          for (const [layer, { geometry }] of plan.layers.entries()) {
            const device = (type: 'f16' | 'f32', heads: number) =>
              cudaTensor(memory.all, { type, shape: [1, heads, DIM] });
            step.append(layer, device('f16', HEADS), device('f16', HEADS));
            const into = { output: device('f32', geometry.queryHeads) };
            step.attend(layer, device('f16', geometry.queryHeads), { into });
          }
        });
        taken.push(free - context.memory().free);
        step.abandon();
        captured.dispose();
        cache.cache.dispose();
      }
      expect(taken[0]).toBeGreaterThan(0);
      expect(taken[0]).toBe(taken[1]);
    }));
});
