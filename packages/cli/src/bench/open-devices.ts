/**
 * Opens the backends that a benchmark names, with what it needs to time them.
 */
import {
  type Backend,
  type BackendObserver,
  observeBackend,
  referenceBackend,
} from '@lowbit-kv/core';
import { type BenchDevice, hostDevice } from '@lowbit-kv/harness';
import { type BACKENDS, createBackends } from '../backends.js';

export type BackendId = (typeof BACKENDS)[number];

/** Backends that run on a card, with memory of their own. */
export const GPU_BACKENDS: readonly string[] = ['webgpu', 'cuda'] satisfies BackendId[];

export interface OpenDevices {
  readonly devices: readonly BenchDevice[];
  dispose(): void;
}

/**
 * With an observer, times include what it takes. Throws PEER_MISSING or BACKEND_UNAVAILABLE; what was opened before is closed then.
 */
export async function openDevices(
  ids: readonly BackendId[],
  observer?: BackendObserver,
): Promise<OpenDevices> {
  const devices: BenchDevice[] = [];
  const closing: (() => void)[] = [];
  const dispose = () => {
    for (const close of closing.reverse()) close();
  };
  try {
    for (const id of new Set(ids)) devices.push(await OPEN[id](closing));
  } catch (error) {
    dispose();
    throw error;
  }
  if (observer === undefined) return { devices, dispose };
  const observed = devices.map((device) => ({
    ...device,
    backend: observeBackend(device.backend, observer),
  }));
  return { devices: observed, dispose };
}

type Open = (closing: (() => void)[]) => Promise<BenchDevice>;

const OPEN: Readonly<Record<BackendId, Open>> = {
  reference: async () => hostDevice(referenceBackend()),
  async onnx() {
    const [backend] = await createBackends('onnx');
    return hostDevice(backend as Backend);
  },
  async webgpu(closing) {
    const { openNodeGpu } = await import('@lowbit-kv/backend-webgpu/node');
    const { webgpuDevice } = await import('./webgpu-device.js');
    const { device, backend } = await openNodeGpu({
      features: ['timestamp-query'],
      // Timestamps of 100 us would say little.
      dawn: ['disable-dawn-features=timestamp_quantization'],
    });
    closing.push(() => {
      backend.dispose();
      device.destroy();
    });
    return webgpuDevice(backend);
  },
  async cuda(closing) {
    const { cudaBackend } = await import('@lowbit-kv/backend-cuda');
    const { cudaDevice } = await import('./cuda-device.js');
    const backend = cudaBackend();
    closing.push(() => backend.dispose());
    const device = await cudaDevice(backend);
    closing.push(() => device.dispose());
    return device;
  },
};
