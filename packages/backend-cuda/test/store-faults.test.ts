// Driver calls that fail, one at a time: caches stay usable, and nothing is left.
import { type Cache, createCache, createPlan, f16Tensor, type Step } from '@lowbit-kv/core';
import { inlineScheme, symmetric } from '@lowbit-kv/core/testing';
import { describe, expect, it } from 'vitest';
import type { CudaFunctionName } from '../src/driver/functions.js';
import { RESULT } from '../src/driver/results.js';
import { cudaTensor, DeviceMemory } from '../src/index.js';
import { type FakeBackend, fakeBackend } from './support/fake-backend.js';
import { errorOf } from './support/open-fake.js';
import { FACTORS } from './support/pack/instances.js';
import { STUBS } from './support/stub-kernels.js';

const HEADS = 2;
const DIM = 64;
const MOST_TOKENS = 96;

const key = {
  ...symmetric(3, 'full', 'channels', 32, { recent: 40, flush: 32 }),
  transforms: [FACTORS],
};
const value = symmetric(3, 'fullSigned', 'tokens', 32, { recent: 40, flush: 32 });
const PLAN = createPlan(
  inlineScheme({ sinks: 5, key, value, packing: 'before-attention' }),
  { layers: 1, queryHeads: HEADS, kvHeads: HEADS, keyHeadDim: DIM, valueHeadDim: DIM },
  { blockTokens: 128 },
);
const LAYERS = [0];

/** That free, that tell of errors, and that everything begins with. */
const SPARED =
  /Free|Destroy|Unload|GetError|Ctx|cuInit|EndCapture|Synchronize|cuDevice|cuDriver|cuPointer/;

function rowsOf(tokens: number) {
  return f16Tensor(new Uint16Array(tokens * HEADS * DIM), [tokens, HEADS, DIM]);
}

/** Runs all that a store does, going on after errors; gives how many there were. */
async function program({ backend, fake }: FakeBackend, begin: () => void): Promise<number> {
  const { context, pool } = await backend.open();
  const memory = DeviceMemory.allocate(context, 8 * MOST_TOKENS * HEADS * DIM);
  const strided = (type: 'f32' | 'f16', tokens: number) => {
    const strides = [HEADS * DIM + 8, DIM];
    return cudaTensor(memory.all, { type, shape: [tokens, HEADS, DIM], strides });
  };
  const dense = (type: 'f32' | 'f16') => cudaTensor(memory.all, { type, shape: [1, HEADS, DIM] });
  begin();
  let failures = 0;
  const attempt = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      // Throws what is not a LowbitKvError.
      await errorOf(() => Promise.reject(error));
      failures++;
      return await work();
    }
  };
  const options = { capacity: { sequences: 5, tokens: 400 } };
  const cache = await attempt(() => createCache(PLAN, backend, options));
  const stepOf = async (
    tokens: readonly [Parameters<Cache['fork']>[0], number][],
    work: (step: Step) => Promise<void> | void,
  ) => {
    const step = cache.step(tokens.map(([sequence, count]) => ({ sequence, tokens: count })));
    try {
      await work(step);
      // Work of the fake runs a piece at a time when it is asked for.
      context.synchronize();
      await step.commit();
    } finally {
      step.abandon();
    }
  };
  const sequence = cache.createSequence();
  await attempt(() =>
    stepOf([[sequence, 70]], (step) => {
      for (const layer of LAYERS) step.append(layer, rowsOf(70), rowsOf(70));
    }),
  );
  await attempt(() =>
    stepOf([[sequence, 10]], async (step) => {
      for (const layer of LAYERS) {
        step.append(layer, strided('f32', 10), strided('f16', 10));
        const attended = step.attend(layer, strided('f16', 1), { logSumExp: true, queries: [1] });
        await attended.read();
      }
    }),
  );
  const fork = cache.fork(sequence);
  await attempt(() =>
    stepOf(
      [
        [sequence, 1],
        [fork, 2],
      ],
      (step) => {
        for (const layer of LAYERS) {
          step.append(layer, rowsOf(3), rowsOf(3));
          step.attend(layer, rowsOf(3), {
            into: { output: cudaTensor(memory.all, { type: 'f32', shape: [3, HEADS, DIM] }) },
          });
        }
      },
    ),
  );
  await attempt(() => cache.exportBlocks(fork, 0, 'key'));
  await attempt(() => cache.attend(0, rowsOf(1), [fork]).read());
  const captured = await attempt(() => backend.captureStep({ rows: 2, tokens: 200 }));
  const replay = () =>
    stepOf([[fork, 1]], (step) =>
      captured.run(() => {
        for (const layer of LAYERS) {
          step.append(layer, dense('f16'), dense('f16'));
          step.attend(layer, dense('f16'), { into: { output: dense('f32') } });
        }
      }),
    );
  await attempt(replay);
  await attempt(replay);
  // Of a sequence without blocks: those of kernels that do nothing are none.
  const short = cache.createSequence();
  await attempt(() =>
    stepOf([[short, 3]], (step) => {
      for (const layer of LAYERS) step.append(layer, rowsOf(3), rowsOf(3));
    }),
  );
  await attempt(() => cache.snapshot([fork]));
  const snapshot = await attempt(() => cache.snapshot([short]));
  await attempt(() => cache.restore(snapshot));
  expect([sequence.length, fork.length]).toEqual([81, 84]);
  captured.dispose();
  cache.dispose();
  expect(pool.usedBytes).toBe(0);
  backend.dispose();
  expect(fake.leaks()).toEqual([]);
  return failures;
}

describe('driver calls that fail', () => {
  it('leave nothing behind, and the cache usable', async () => {
    const clean = fakeBackend(STUBS);
    let calls: CudaFunctionName[] = [];
    const failures = await program(clean, () => {
      clean.fake.takeCalls();
    });
    expect(failures).toBe(0);
    calls = clean.fake.takeCalls();
    let told = 0;
    for (const name of new Set(calls)) {
      if (SPARED.test(name)) continue;
      const count = calls.filter((call) => call === name).length;
      for (let later = 1; later <= count; later *= 2) {
        const opened = fakeBackend(STUBS);
        try {
          told += await program(opened, () =>
            opened.fake.failNext(name, RESULT.OUT_OF_MEMORY, later),
          );
        } catch (error) {
          throw new Error(`call ${later} of ${count} of ${name}`, { cause: error });
        }
      }
    }
    expect(told).toBeGreaterThan(40);
  }, 60_000);
});
