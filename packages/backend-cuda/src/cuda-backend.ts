/**
 * The backend over an NVIDIA card: the driver is opened when it is first needed.
 */
import { type Backend, type BackendProbe, LowbitKvError, type Plan } from '@lowbit-kv/core';
import { CapturedStep, type CapturedStepOptions } from './captured-step.js';
import { probeCuda } from './driver/probe.js';
import { kernelManifest } from './images.js';
import { checkContext, lazyNvrtc, Runtime, type RuntimeOptions } from './runtime.js';
import { CudaStore } from './store/cuda-store.js';
import { type CudaSupport, supportOf } from './support.js';

export type CudaBackendOptions = RuntimeOptions;

export interface CudaBackend extends Backend {
  /** Names the kernel of each layer of a plan that runs. */
  supports(plan: Plan): CudaSupport;
  /** The context and the stream that caches work in; opens the card. Throws OPTION_INVALID, BACKEND_UNAVAILABLE. */
  open(): Promise<Runtime>;
  /** A decode step as a graph; see CapturedStep. Opens the card. Throws OPTION_INVALID, BACKEND_UNAVAILABLE. */
  captureStep(options: CapturedStepOptions): Promise<CapturedStep>;
  /** Frees what caches share. Dispose them first; a context of the caller stays. */
  dispose(): void;
}

export function cudaBackend(options: CudaBackendOptions = {}): CudaBackend {
  let runtime: Runtime | undefined;
  let opening: Promise<Runtime> | undefined;
  const nvrtc = lazyNvrtc(options);
  const open = () => {
    if (opening !== undefined) return opening;
    const own = Runtime.open(options, nvrtc).then(
      (opened) => {
        if (opening !== own) {
          opened.dispose();
          throw disposedMeanwhile();
        }
        runtime = opened;
        return opened;
      },
      (error) => {
        // The next call tries again.
        if (opening === own) opening = undefined;
        throw error;
      },
    );
    opening = own;
    return own;
  };
  return {
    specVersion: 1,
    id: 'cuda',
    probe: () => probe(options),
    supports: (plan) => supportOf(plan, nvrtc),
    createStore: async (plan, storeOptions) => new CudaStore(await open(), plan, storeOptions),
    open,
    captureStep: async (stepOptions) => new CapturedStep(await open(), stepOptions),
    dispose() {
      const last = runtime;
      runtime = undefined;
      opening = undefined;
      last?.dispose();
    },
  };
}

function disposedMeanwhile(): LowbitKvError {
  return new LowbitKvError('DEVICE_RESOURCE_STATE', {
    message: 'the backend was disposed while it opened the card',
    valid: 'a backend in use',
    next: 'Dispose it after what uses it.',
  });
}

/** Whether the kernels of this package run here; never throws for what a machine lacks, and takes no memory of the card. */
export function probe({ kernels, ...options }: CudaBackendOptions = {}): Promise<BackendProbe> {
  const images = () => {
    checkContext(options);
    return kernels?.images() ?? kernelManifest().images;
  };
  return probeCuda({ images, ...options });
}
