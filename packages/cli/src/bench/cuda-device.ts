/**
 * CUDA under a benchmark: device memory, and events of the stream that the backend works in.
 */
import { type CudaBackend, cudaTensor, DeviceMemory, Event, Graph } from '@lowbit-kv/backend-cuda';
import type { AttentionResult } from '@lowbit-kv/core';
import {
  type BenchDevice,
  type BenchMemory,
  pause,
  type RepeatOptions,
  repeatsOf,
} from '@lowbit-kv/harness';
import { cardState } from './nvidia-smi.js';

/** Of a decode step, as a model has. */
const STEP_LAYERS = 32;
/** The card is kept busy for so long while the host enqueues what is timed. */
const AHEAD_MILLISECONDS = 3;
const AHEAD_BYTES = 1e9;
/** Shares of the memory of a card. */
const AHEAD_SHARE = 64;
const COPY_SHARE = 16;

/** Opens the card. `dispose` frees what the benchmark holds; the backend stays the caller's. */
export async function cudaDevice(backend: CudaBackend): Promise<BenchDevice & { dispose(): void }> {
  const { context, stream } = await backend.open();
  const { properties } = context.device;
  const { memoryBytes } = properties;
  const ahead = DeviceMemory.allocate(
    context,
    Math.min(AHEAD_BYTES, memoryBytes / AHEAD_SHARE) & ~3,
  );
  const [from, to] = [0, 1].map(() => Event.create(context, { timing: true })) as [Event, Event];

  /** Microseconds on the card of what `work` enqueues. */
  const elapsed = (work: () => void): number => {
    from.record(stream);
    work();
    to.record(stream);
    to.synchronize();
    return 1000 * to.millisecondsSince(from);
  };
  const fill = () => ahead.all.fill(stream, 0);
  fill();
  const fills = Math.ceil((1000 * AHEAD_MILLISECONDS) / Math.max(1, elapsed(fill)));

  const memory = (type: 'f16' | 'f32', elements: number): BenchMemory & { all: DeviceMemory } => {
    const all = DeviceMemory.allocate(context, elements * (type === 'f16' ? 2 : 4));
    return {
      all,
      tensor: (shape, offset = 0) => cudaTensor(all.all, { type, shape, offset }),
      dispose: () => all.dispose(),
    };
  };

  return {
    backend,
    clock: 'gpu',
    lastLevelCacheBytes: properties.limits.l2Bytes || null,
    stepLayers: STEP_LAYERS,
    async facts() {
      const probe = await backend.probe();
      const card = await cardState(properties.uuid);
      return {
        device: probe.ok ? probe.device : probe.reason,
        driver: card?.driver ?? null,
        clocks: card?.clocks ?? null,
      };
    },
    upload(values) {
      const made = memory('f16', values.length);
      made.all.all.upload(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
      return made;
    },
    allocate: (elements) => memory('f32', elements),
    async copy(wanted, samples) {
      const bytes = Math.floor(Math.min(wanted, memoryBytes / COPY_SHARE));
      const [source, target] = [0, 1].map(() => DeviceMemory.allocate(context, bytes)) as [
        DeviceMemory,
        DeviceMemory,
      ];
      try {
        const copy = () => target.all.copyFrom(stream, source.all);
        elapsed(copy);
        return { bytes, microseconds: Array.from({ length: samples }, () => elapsed(copy)) };
      } finally {
        source.dispose();
        target.dispose();
      }
    },
    async once(work, settle) {
      for (let i = 0; i < fills; i++) fill();
      const time = elapsed(work);
      await settle();
      return time;
    },
    repeat,
    dispose() {
      stream.synchronize();
      from.dispose();
      to.dispose();
      ahead.dispose();
    },
  };

  /** A graph of all layers: launches of the host are not in the figures. */
  async function repeat(
    attend: (layer: number) => AttentionResult,
    { layers, samples, warmUpMilliseconds, signal }: RepeatOptions,
  ): Promise<number[]> {
    const pass = () => {
      for (let layer = 0; layer < layers; layer++) attend(layer);
    };
    // What is made by the first attends is no part of a graph.
    pass();
    stream.synchronize();
    const graph = Graph.capture(stream, pass);
    try {
      const run = (count: number) =>
        elapsed(() => {
          for (let i = 0; i < count; i++) graph.run(stream);
        }) / count;
      const began = performance.now();
      let estimate: number;
      do {
        await pause(signal);
        estimate = run(1);
      } while (performance.now() - began < warmUpMilliseconds);
      const times: number[] = [];
      while (times.length < samples) {
        await pause(signal);
        times.push(run(repeatsOf(estimate)) / layers);
      }
      return times;
    } finally {
      graph.dispose();
    }
  }
}
