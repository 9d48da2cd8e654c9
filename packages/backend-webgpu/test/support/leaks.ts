/**
 * Makes and disposes caches, and appends and attends for many steps, while a counted device watches.
 */
import {
  type Cache,
  createCache,
  createPlan,
  f16Tensor,
  f32Tensor,
  type Sequence,
} from '@lowbit-kv/core';
import { asymmetric, inlineScheme, lcgNormal } from '@lowbit-kv/core/testing';
import { webgpuBackend } from '../../src/index.js';
import { CountedDevice } from './counted-device.js';

const HEADS = 1;
const DIM = 32;
const LONGEST = 160;

export interface LeakReport {
  /** Pipelines made after the first cache. */
  readonly newPipelines: number;
  /** Buffers that exist after the last short life and did not after the first. */
  readonly grown: number;
  /** Buffers made after the first steps of the long life. */
  readonly newBuffers: number;
  /** Labels of buffers that exist after the dispose of the last cache and of the backend. */
  readonly leftOver: readonly string[];
  readonly stepsDone: number;
}

const plan = createPlan(
  inlineScheme({
    key: asymmetric(4, 'tokens', 32),
    value: asymmetric(2, 'channels', 32, { recent: 8, flush: 1 }),
    sinks: 2,
  }),
  { layers: 1, queryHeads: 2, kvHeads: HEADS, keyHeadDim: DIM, valueHeadDim: DIM },
  { blockTokens: 64 },
);

/** `caches` short lives, then one cache of `steps` steps. */
export async function leaksOf(caches: number, steps: number): Promise<LeakReport> {
  const counted = await CountedDevice.open();
  const backend = webgpuBackend({ device: counted.device });
  const open = () => createCache(plan, backend, { capacity: { tokens: 256, sequences: 1 } });
  const lives = async (cache: Cache, sequence: Sequence, count: number, seed: number) => {
    let done = 0;
    while (done < count) {
      if (sequence.length === LONGEST) cache.truncate(sequence, 40);
      await step(cache, sequence, seed + done++);
    }
    return done;
  };
  let pipelines = 0;
  let alive = 0;
  for (let i = 0; i < caches; i++) {
    const cache = await open();
    await lives(cache, cache.createSequence(), 2, i);
    cache.dispose();
    if (i > 0) continue;
    pipelines = counted.pipelines;
    alive = counted.alive.length;
  }
  const grown = counted.alive.length - alive;
  const cache = await open();
  const sequence = cache.createSequence();
  // Longer than the longest sequence: every buffer that grows has grown.
  let stepsDone = await lives(cache, sequence, Math.min(steps, LONGEST + 10), 0);
  const { buffers } = counted;
  stepsDone += await lives(cache, sequence, steps - stepsDone, 1);
  const newBuffers = counted.buffers - buffers;
  cache.dispose();
  backend.dispose();
  const report = {
    newPipelines: counted.pipelines - pipelines,
    grown,
    newBuffers,
    leftOver: counted.alive,
    stepsDone,
  };
  counted.device.destroy();
  return report;
}

async function step(cache: Cache, sequence: Sequence, seed: number): Promise<void> {
  const shape = [1, HEADS, DIM];
  const halves = (salt: number) =>
    f16Tensor(lcgNormal({ seed: 2 * seed + salt, shape, dtype: 'f16' }), shape);
  const step = cache.step([{ sequence, tokens: 1 }]);
  step.append(0, halves(0), halves(1));
  const queryShape = [1, 2 * HEADS, DIM];
  const query = f32Tensor(lcgNormal({ seed, shape: queryShape, dtype: 'f32' }), queryShape);
  const result = step.attend(0, query, { logSumExp: true });
  const { output } = await result.read();
  if (!output.data.every((value) => Number.isFinite(value)) || output.data.every((v) => v === 0))
    throw new Error('attention gave nothing');
  await step.commit();
}
