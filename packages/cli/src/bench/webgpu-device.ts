/**
 * WebGPU under a benchmark: buffers of the device, and its own clock where it has one.
 */
import { gpuTensor, type WebGpuBackend } from '@lowbit-kv/backend-webgpu';
import { LowbitKvError } from '@lowbit-kv/core';
import type { BenchDevice, BenchMemory } from '@lowbit-kv/harness';
import { cardState } from './nvidia-smi.js';
import { hostClock, timestampClock } from './webgpu-clocks.js';

const USAGE = 0x8c; // STORAGE | COPY_SRC | COPY_DST
/** Of a decode step, as a model has. */
const STEP_LAYERS = 32;

type BufferMemory = BenchMemory & { readonly buffer: GPUBuffer };

export function webgpuDevice(backend: WebGpuBackend): BenchDevice {
  const { device } = backend;
  const hasClock = device.features.has('timestamp-query');
  const clock = hasClock ? timestampClock(backend) : hostClock(device);
  const failures: string[] = [];
  device.addEventListener('uncapturederror', ({ error }) => failures.push(error.message));
  /** What was measured while the device reported an error means nothing. */
  const checked = async <Result>(work: Promise<Result>): Promise<Result> => {
    const result = await work;
    const [message] = failures.splice(0);
    if (message !== undefined) throw gpuFailure(message);
    return result;
  };

  const memory = (type: 'f16' | 'f32', elements: number): BufferMemory => {
    const size = 4 * Math.ceil((elements * (type === 'f16' ? 2 : 4)) / 4);
    checkSize(device, size);
    const buffer = device.createBuffer({ size, usage: USAGE });
    return {
      buffer,
      tensor: (shape, offset = 0) => gpuTensor(buffer, { type, shape, offset }),
      dispose: () => buffer.destroy(),
    };
  };

  return {
    backend,
    clock: hasClock ? 'gpu' : 'host',
    lastLevelCacheBytes: null,
    stepLayers: STEP_LAYERS,
    async facts() {
      const probe = await backend.probe();
      const card = device.adapterInfo.vendor === 'nvidia' ? await cardState() : null;
      return {
        device: probe.ok ? probe.device : probe.reason,
        driver: card?.driver ?? null,
        clocks: card?.clocks ?? null,
      };
    },
    upload(values) {
      const made = memory('f16', values.length);
      const even = new Uint16Array(2 * Math.ceil(values.length / 2));
      even.set(values);
      device.queue.writeBuffer(made.buffer, 0, even);
      return made;
    },
    allocate: (elements) => memory('f32', elements),
    async copy(wanted, samples) {
      const elements = Math.floor(Math.min(wanted, largestBuffer(device)) / 4);
      const [from, to] = [memory('f32', elements), memory('f32', elements)];
      const bytes = 4 * elements;
      try {
        const copy = (encoder: GPUCommandEncoder) =>
          encoder.copyBufferToBuffer(from.buffer, 0, to.buffer, 0, bytes);
        return { bytes, microseconds: await checked(clock.copies(copy, samples)) };
      } finally {
        from.dispose();
        to.dispose();
      }
    },
    once: (work, settle) => checked(clock.once(work, settle)),
    repeat: (attend, options) => checked(clock.repeat(attend, options)),
  };
}

function largestBuffer({ limits }: GPUDevice): number {
  return Math.min(limits.maxBufferSize, limits.maxStorageBufferBindingSize);
}

function checkSize(device: GPUDevice, bytes: number): void {
  const most = largestBuffer(device);
  if (bytes <= most) return;
  throw new LowbitKvError('DEVICE_OUT_OF_MEMORY', {
    message: 'the inputs of this shape do not fit into a buffer of the device',
    value: bytes,
    valid: `at most ${most} bytes`,
    next: 'Measure a smaller shape.',
  });
}

function gpuFailure(message: string): LowbitKvError {
  return new LowbitKvError('BACKEND_FAILED', {
    message: 'the device reported an error while it was measured',
    value: message.slice(0, 500),
    valid: 'no error',
    next: 'Measure a smaller shape; if it stays, report it with this message.',
  });
}
