/**
 * The backends that can be soaked on a machine without a GPU, and what each of them counts.
 */
import { onnxBackend } from '@lowbit-kv/backend-onnx';
import { webgpuBackend } from '@lowbit-kv/backend-webgpu';
import { type Backend, referenceBackend } from '@lowbit-kv/core';
import { hostBackend } from '../../../packages/backend-cuda/test/support/host-backend.js';
import { CountedDevice } from '../../../packages/backend-webgpu/test/support/counted-device.js';

export interface OpenedBackend {
  readonly backend: Backend;
  /** What is held on the device now, by name. */
  readonly counts: () => Record<string, number>;
  /** Frees everything; gives what is left. */
  readonly close: () => readonly string[];
}

function onHost(backend: Backend): OpenedBackend {
  return { backend, counts: () => ({}), close: () => [] };
}

export const BACKENDS = {
  reference: async () => onHost(referenceBackend()),
  onnx: async () => onHost(onnxBackend({ intraOpNumThreads: 1 })),
  // On dawn with SwiftShader.
  webgpu: async () => {
    const counted = await CountedDevice.open();
    const backend = webgpuBackend({ device: counted.device });
    return {
      backend,
      counts: () => ({ deviceBuffers: counted.alive.length }),
      close: () => {
        backend.dispose();
        const { alive } = counted;
        counted.device.destroy();
        return alive;
      },
    };
  },
  // A driver without a card; the host runs the kernels.
  cuda: async () => {
    const { backend, fake, close } = hostBackend();
    const counts = () => {
      // The fake remembers every call until it is asked.
      fake.takeCalls();
      return { driverObjects: fake.leaks().length };
    };
    return { backend, counts, close };
  },
} as const satisfies Record<string, () => Promise<OpenedBackend>>;

export type BackendName = keyof typeof BACKENDS;
