/**
 * Times one decode step over a filled cache, recorded into an encoder of its own. Work that brings the clocks up, and warm
 * passes, come before it in the same submission.
 */
import { gpuTensor, Stopwatch, timed, type WebGpuBackend } from '@lowbit-kv/backend-webgpu';
import { createRandom, spreadOf } from '@lowbit-kv/core/testing';
import type { FilledCache } from '@lowbit-kv/harness';
import type { Burner } from '../../../packages/backend-webgpu/bench/burner.js';
import type { DataSource } from './data-source.js';
import { drawnQueries } from './drawn-data.js';
import { HEAD_DIM } from './plans.js';

export interface StepTimes {
  /** Kernel time of attention over one layer, median of the samples, microseconds. */
  readonly attend: number;
  /** Kernel time of appending one token a sequence to one layer, microseconds. */
  readonly append: number;
  /** What the host takes to record one attend, microseconds. */
  readonly record: number;
}

export interface StepOptions {
  readonly queryHeads: number;
  /** Query tokens of a sequence. */
  readonly queries: number;
  readonly samples: number;
  readonly warmMicroseconds: number;
  /** Null where nothing has to be warm. */
  readonly burner: Burner | null;
}

/** Attends of one sample take about so long. */
const SAMPLE_MICROSECONDS = 1500;
const MOST_ATTENDS = 64;
/** Times that every layer is met before times count. */
const WARM_ROUNDS = 2;

export async function timeStep(
  backend: WebGpuBackend,
  source: DataSource,
  { cache, sequences }: FilledCache,
  { queryHeads, queries, samples, warmMicroseconds, burner }: StepOptions,
): Promise<StepTimes> {
  const { device } = backend;
  const layers = cache.plan.layers.length;
  const shape = [sequences.length * queries, queryHeads, HEAD_DIM];
  const drawn = drawnQueries(shape, 21) as Float32Array<ArrayBuffer>;
  const buffer = () => device.createBuffer({ size: drawn.byteLength, usage: 0x8c });
  const [queryBuffer, outputBuffer] = [buffer(), buffer()];
  device.queue.writeBuffer(queryBuffer, 0, drawn);
  const query = gpuTensor(queryBuffer, { type: 'f32', shape });
  const options = {
    queries: sequences.map(() => queries),
    into: { output: gpuTensor(outputBuffer, { type: 'f32', shape }) },
  };
  const stopwatch = new Stopwatch(device, samples + 3);
  const target = { device, recorder: backend };
  const step = cache.step(sequences.map((sequence) => ({ sequence, tokens: 1 })));
  try {
    // Makes bind groups and buffers, and says how many passes a sample has.
    const attendCommitted = (times: number) => {
      for (let i = 0; i < times; i++) cache.attend(i % layers, query, sequences, options);
    };
    const cold = await timed(target, stopwatch, (record, note) => {
      record(() => attendCommitted(layers));
      note();
      record(() => attendCommitted(layers));
      note();
    });
    const estimate = Math.max(1, (cold[0] as number) / layers);
    const each = Math.min(MOST_ATTENDS, Math.ceil(SAMPLE_MICROSECONDS / estimate));

    const random = createRandom(31);
    let attended = 0;
    let recording = 0;
    const [append, ...attends] = await timed(target, stopwatch, (record, note, encoder) => {
      burner?.record(encoder, warmMicroseconds);
      record(() => attendCommitted(WARM_ROUNDS * layers));
      note();
      record(() => {
        for (let layer = 0; layer < layers; layer++) {
          const { key, value } = source.rows(sequences.length, random);
          step.append(layer, key, value);
        }
      });
      note();
      const from = performance.now();
      for (let sample = 0; sample < samples; sample++) {
        record(() => {
          for (let i = 0; i < each; i++) step.attend(attended++ % layers, query, options);
        });
        note();
      }
      recording = performance.now() - from;
    });
    await step.commit();
    return {
      attend: spreadOf(attends).median / each,
      append: (append as number) / layers,
      record: (recording * 1000) / attended,
    };
  } finally {
    step.abandon();
    stopwatch.dispose();
    queryBuffer.destroy();
    outputBuffer.destroy();
  }
}
