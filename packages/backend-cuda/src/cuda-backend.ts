/**
 * The backend over an NVIDIA card: the driver is opened when it is first needed.
 */
import type { Backend, BackendProbe, Plan } from '@lowbit-kv/core';
import { CapturedStep, type CapturedStepOptions } from './captured-step.js';
import { probeCuda } from './driver/probe.js';
import { kernelManifest } from './images.js';
import { Runtime, type RuntimeOptions } from './runtime.js';
import { CudaStore } from './store/cuda-store.js';
import { type CudaSupport, supportOf } from './support.js';

export type CudaBackendOptions = RuntimeOptions;

export interface CudaBackend extends Backend {
  /** Names the kernel of each layer of a plan that runs. */
  supports(plan: Plan): CudaSupport;
  /** The context and the stream that caches work in; opens the card. Throws BACKEND_UNAVAILABLE. */
  open(): Promise<Runtime>;
  /** A decode step as a graph; see CapturedStep. Opens the card. Throws OPTION_INVALID, BACKEND_UNAVAILABLE. */
  captureStep(options: CapturedStepOptions): Promise<CapturedStep>;
  /** Frees what caches share. Dispose them first; a context of the caller stays. */
  dispose(): void;
}

export function cudaBackend(options: CudaBackendOptions = {}): CudaBackend {
  let runtime: Runtime | undefined;
  let opening: Promise<Runtime> | undefined;
  const open = () => {
    opening ??= Runtime.open(options).then(
      (opened) => {
        runtime = opened;
        return opened;
      },
      (error) => {
        // The next call tries again.
        opening = undefined;
        throw error;
      },
    );
    return opening;
  };
  return {
    specVersion: 1,
    id: 'cuda',
    probe: () => probe(options),
    supports: supportOf,
    createStore: async (plan, storeOptions) => new CudaStore(await open(), plan, storeOptions),
    open,
    captureStep: async (stepOptions) => new CapturedStep(await open(), stepOptions),
    dispose() {
      runtime?.dispose();
      runtime = undefined;
      opening = undefined;
    },
  };
}

/** Whether the kernels of this package run here; never throws for what a machine lacks, and takes no memory of the card. */
export function probe({ kernels, ...options }: CudaBackendOptions = {}): Promise<BackendProbe> {
  const images = kernels?.images ?? (() => kernelManifest().images);
  return probeCuda({ images, ...options });
}
