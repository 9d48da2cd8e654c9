// What outlives what: results, steps, caches and backends that end in any order; and tensors that are not what they seem.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createCache, createPlan, f16Tensor, type LayerPlan } from '@lowbit-kv/core';
import { asymmetric, inlineScheme } from '@lowbit-kv/core/testing';
import { describe, expect, it } from 'vitest';
import { RESULT } from '../src/driver/results.js';
import { Context, cudaTensor, DeviceMemory, openCuda } from '../src/index.js';
import { kernelsOf } from '../src/support.js';
import type { FakeKernel } from './support/fake/kernels.js';
import { fakeBackend } from './support/fake-backend.js';
import { errorOf } from './support/open-fake.js';
import { STUBS } from './support/stub-kernels.js';

const HEADS = 2;
const DIM = 128;
const SHAPE = { layers: 1, queryHeads: HEADS, kvHeads: HEADS, keyHeadDim: DIM, valueHeadDim: DIM };
const SCHEME = inlineScheme({
  key: asymmetric(4, 'tokens', 32, { recent: 40, flush: 32 }),
  value: asymmetric(4, 'channels', 32, { recent: 40, flush: 1 }),
  packing: 'after-attention',
});
const PLAN = createPlan(SCHEME, SHAPE, { blockTokens: 128 });

const rowsOf = (tokens: number) =>
  f16Tensor(new Uint16Array(tokens * HEADS * DIM), [tokens, HEADS, DIM]);

/** Touches memory that is nobody's, where there is something to attend. */
const instance = kernelsOf(PLAN.layers[0] as LayerPlan).name;
const FAULTY: FakeKernel = {
  ...(STUBS.find(({ name }) => name === instance) as FakeKernel),
  run: ({ memory }) => void memory.at(Uint8Array, 1n, 1),
};

/** `kernels`: before those that do nothing. */
async function setUp(kernels: readonly FakeKernel[] = []) {
  const opened = fakeBackend([...kernels, ...STUBS]);
  const { backend, fake } = opened;
  const { context, pool } = await backend.open();
  const cache = await createCache(PLAN, backend, { capacity: { sequences: 4, tokens: 400 } });
  const sequence = cache.createSequence();
  await cache.append([{ sequence, tokens: 3 }], [{ key: rowsOf(3), value: rowsOf(3) }]);
  const dispose = () => {
    backend.dispose();
    expect(fake.leaks()).toEqual([]);
  };
  return { ...opened, context, pool, cache, sequence, dispose };
}

describe('results', () => {
  it('have no handle any more when they were read', async () => {
    const { cache, sequence, pool, dispose } = await setUp();
    const result = cache.attend(0, rowsOf(1), [sequence]);
    await result.read();
    expect(() => (result.output as { handle: unknown }).handle).toThrow('given back');
    const taken = cache.attend(0, rowsOf(1), [sequence]);
    expect(taken.output).toHaveProperty('handle.type', 'f32');
    await taken.read();
    expect(pool.usedBytes).toBeGreaterThan(0);
    cache.dispose();
    expect(pool.usedBytes).toBe(0);
    dispose();
  });

  it('that nobody can read give their memory back', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const { cache, sequence, pool, dispose } = await setUp();
    for (let i = 0; i < 5; i++) cache.attend(0, rowsOf(1), [sequence], { logSumExp: true });
    expect(pool.usedBytes).toBeGreaterThan(0);
    for (let turn = 0; turn < 50 && pool.usedBytes > 0; turn++) {
      collect();
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    expect(pool.usedBytes).toBe(0);
    dispose();
  });

  it('are read again after a failure', async () => {
    const { cache, sequence, fake, dispose } = await setUp();
    const result = cache.attend(0, rowsOf(1), [sequence]);
    fake.failNext('cuMemcpyDtoHAsync_v2', 1);
    await errorOf(() => result.read());
    expect((await result.read()).output.shape).toEqual([1, HEADS, DIM]);
    dispose();
  });

  it('of a cache that was disposed cannot be read', async () => {
    const { cache, sequence, pool, dispose } = await setUp();
    const result = cache.attend(0, rowsOf(1), [sequence], { logSumExp: true });
    const late = cache.attend(0, rowsOf(1), [sequence], { logSumExp: true });
    const reading = result.read();
    cache.dispose();
    expect(pool.usedBytes).toBe(0);
    expect((await errorOf(() => reading)).code).toBe('DEVICE_RESOURCE_STATE');
    expect((await errorOf(() => late.read())).code).toBe('DEVICE_RESOURCE_STATE');
    dispose();
  });
});

describe('memory of steps', () => {
  it('is given back by caches that are disposed while steps are open', async () => {
    const { cache, sequence, pool, dispose } = await setUp();
    const step = cache.step([{ sequence, tokens: 2 }]);
    step.append(0, rowsOf(2), rowsOf(2));
    expect(pool.usedBytes).toBeGreaterThan(0);
    cache.dispose();
    expect(pool.usedBytes).toBe(0);
    step.abandon();
    dispose();
  });

  it.each(['cuLaunchKernelEx', 'cuMemcpyHtoDAsync_v2'] as const)(
    'is given back by attention that fails at %s',
    async (call) => {
      const { cache, sequence, pool, fake, dispose } = await setUp();
      const query = rowsOf(1);
      fake.failNext(call, 1);
      await errorOf(() => cache.attend(0, query, [sequence], { logSumExp: true }));
      expect(pool.usedBytes).toBe(0);
      dispose();
    },
  );

  it('of abandoned steps is given back by a driver that fails', async () => {
    const { cache, sequence, pool, fake, context, dispose } = await setUp();
    for (let later = 1; later < 9; later++) fake.failNext('cuMemsetD32Async', 1, later);
    const memory = DeviceMemory.allocate(context, 4 * HEADS * DIM);
    const tensor = cudaTensor(memory.all, { type: 'f16', shape: [1, HEADS, DIM] });
    const step = cache.step([{ sequence, tokens: 1 }]);
    step.append(0, tensor, tensor);
    step.abandon();
    expect(pool.usedBytes).toBe(0);
    // The sequence is free again.
    cache.truncate(sequence, 2);
    dispose();
  });
});

describe('memory that nobody uses', () => {
  it('is freed when the card has none for something else', async () => {
    const { context, pool, fake, dispose } = await setUp();
    pool.give(pool.take(1000));
    fake.failNext('cuMemAlloc_v2', RESULT.OUT_OF_MEMORY);
    DeviceMemory.allocate(context, 5000);
    expect(pool.bytes).toBe(0);
    fake.failNext('cuMemAlloc_v2', RESULT.OUT_OF_MEMORY);
    const error = await errorOf(() => DeviceMemory.allocate(context, 5000));
    expect(error.code).toBe('DEVICE_OUT_OF_MEMORY');
    dispose();
  });

  it('is what caches that are disposed during a commit leave', async () => {
    const { cache, sequence, pool, dispose } = await setUp();
    const step = cache.step([{ sequence, tokens: 1 }]);
    step.append(0, rowsOf(1), rowsOf(1));
    const committed = step.commit();
    cache.dispose();
    expect((await errorOf(() => committed)).code).toBe('CACHE_DISPOSED');
    expect(pool.usedBytes).toBe(0);
    dispose();
  });
});

describe('backends', () => {
  it('are disposed while they open', async () => {
    const { backend, fake } = fakeBackend(STUBS);
    const opening = backend.open();
    backend.dispose();
    expect((await errorOf(() => opening)).code).toBe('DEVICE_RESOURCE_STATE');
    expect(fake.leaks()).toEqual([]);
    await backend.open();
    backend.dispose();
    expect(fake.leaks()).toEqual([]);
  });

  it('whose card failed end as any other', async () => {
    const { fake, backend, cache, sequence } = await setUp([FAULTY]);
    const captured = await backend.captureStep({ rows: 1, tokens: 10 });
    const step = cache.step([{ sequence, tokens: 1 }]);
    step.append(0, rowsOf(1), rowsOf(1));
    const result = step.attend(0, rowsOf(1));
    expect((await errorOf(() => step.commit())).code).toBe('DEVICE_LOST');
    expect((await errorOf(() => result.read())).code).toBe('DEVICE_LOST');
    expect((await errorOf(() => cache.attend(0, rowsOf(1), [sequence]))).code).toBe('DEVICE_LOST');
    captured.dispose();
    cache.dispose();
    backend.dispose();
    expect(fake.currentContext).toBe(0n);
  });

  it('are disposed before their caches, steps and captured steps', async () => {
    const { cache, sequence, backend, dispose } = await setUp();
    const captured = await backend.captureStep({ rows: 1, tokens: 10 });
    const step = cache.step([{ sequence, tokens: 1 }]);
    step.append(0, rowsOf(1), rowsOf(1));
    const result = step.attend(0, rowsOf(1));
    dispose();
    step.abandon();
    await errorOf(() => result.read());
    expect((await errorOf(() => cache.attend(0, rowsOf(1), [sequence]))).code).toBe(
      'DEVICE_RESOURCE_STATE',
    );
    captured.dispose();
    cache.dispose();
  });
});

describe('tensors', () => {
  it('are refused when they are of another context, misaligned, or renamed', async () => {
    const { cache, sequence, context, fake, dispose } = await setUp();
    const memory = DeviceMemory.allocate(context, 1024);
    const given = { type: 'f16', shape: [1, HEADS, DIM] } as const;
    const attempt = async (tensor: Parameters<typeof cache.attend>[1]) => {
      const step = cache.step([{ sequence, tokens: 1 }]);
      const { code } = await errorOf(() => step.append(0, tensor, tensor));
      const attended = await errorOf(() => cache.attend(0, tensor, [sequence]));
      return [code, attended.code];
    };
    fake.createContext();
    const foreign = Context.current(await openCuda({ driver: fake.driver }));
    const far = cudaTensor(DeviceMemory.allocate(foreign, 1024).all, given);
    expect(await attempt(far)).toEqual(['TENSOR_INVALID', 'TENSOR_INVALID']);
    const small = cudaTensor(memory.all, { ...given, shape: [1, 1, DIM] });
    expect(await attempt({ ...small, shape: given.shape })).toEqual([
      'TENSOR_INVALID',
      'TENSOR_INVALID',
    ]);
    expect((await errorOf(() => cudaTensor(memory.range(1), given))).code).toBe('TENSOR_INVALID');
    foreign.dispose();
    fake.popContext();
    dispose();
  });
});
