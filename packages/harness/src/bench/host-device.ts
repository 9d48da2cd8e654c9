/**
 * Backends that compute on the host: tensors are arrays, and times are those of the host's clock, result included.
 */
import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { type Backend, f16Tensor } from '@lowbit-kv/core';
import { type BenchDevice, type RepeatOptions, repeatsOf } from './device.js';
import { pause } from './pause.js';

/** Layers do not overlap there. */
const STEP_LAYERS = 2;

export interface HostDeviceOptions {
  /** Version of what the backend runs on. */
  readonly driver?: string;
  /** Default: what Linux says; null when unknown. */
  readonly lastLevelCacheBytes?: number | null;
}

export function hostDevice(backend: Backend, options: HostDeviceOptions = {}): BenchDevice {
  const { driver = null, lastLevelCacheBytes = lastLevelCache() } = options;
  return {
    backend,
    clock: 'host',
    lastLevelCacheBytes,
    stepLayers: STEP_LAYERS,
    async facts() {
      const probe = await backend.probe();
      const [cpu] = cpus();
      return {
        device: probe.ok ? probe.device : probe.reason,
        driver,
        clocks: cpu === undefined || cpu.speed === 0 ? null : `${cpu.speed} MHz`,
      };
    },
    upload: (values) => ({
      tensor(shape, offset = 0) {
        const elements = shape.reduce((product, size) => product * size, 1);
        return f16Tensor(values.subarray(offset, offset + elements), shape);
      },
      dispose: () => undefined,
    }),
    allocate: () => null,
    async copy(bytes, samples) {
      const source = new Uint8Array(bytes).fill(1);
      const target = new Uint8Array(bytes);
      // Pages are mapped by the first copy.
      target.set(source);
      const microseconds = Array.from({ length: samples }, () => {
        const start = performance.now();
        target.set(source);
        return 1000 * (performance.now() - start);
      });
      return { bytes, microseconds };
    },
    async once(work, settle) {
      const start = performance.now();
      work();
      await settle();
      return 1000 * (performance.now() - start);
    },
    repeat: (attend, options) => repeatOnHost((layer) => attend(layer).read(), options),
  };
}

/** Also for devices without a clock of their own. `attend` waits for its result. */
export async function repeatOnHost(
  attend: (layer: number) => Promise<unknown>,
  { layers, samples, warmUpMilliseconds, signal }: RepeatOptions,
): Promise<number[]> {
  let attended = 0;
  const run = async (count: number) => {
    const start = performance.now();
    for (let i = 0; i < count; i++) await attend(attended++ % layers);
    return (1000 * (performance.now() - start)) / count;
  };
  const began = performance.now();
  let estimate: number;
  do {
    await pause(signal);
    estimate = await run(1);
  } while (attended < layers || performance.now() - began < warmUpMilliseconds);
  const times: number[] = [];
  while (times.length < samples) {
    await pause(signal);
    times.push(await run(repeatsOf(estimate)));
  }
  return times;
}

/** Of the first core; null where the system does not say. */
function lastLevelCache(): number | null {
  const sizes: number[] = [];
  for (let index = 0; ; index++) {
    try {
      const text = readFileSync(`/sys/devices/system/cpu/cpu0/cache/index${index}/size`, 'utf8');
      sizes.push(1024 * Number.parseInt(text, 10));
    } catch {
      break;
    }
  }
  const largest = Math.max(0, ...sizes);
  return largest > 0 ? largest : null;
}
