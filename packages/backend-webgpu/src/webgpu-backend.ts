/**
 * The backend over a GPUDevice of the caller.
 */
import type { Backend, BackendSupport, Plan } from '@lowbit-kv/core';
import { Pipelines } from './device/pipelines.js';
import { refusals } from './refusals.js';
import { WebGpuStore } from './store/webgpu-store.js';

export interface WebGpuBackendOptions {
  readonly device: GPUDevice;
}

export function webgpuBackend({ device }: WebGpuBackendOptions): Backend {
  const pipelines = new Pipelines(device);
  return {
    specVersion: 1,
    id: 'webgpu',
    async probe() {
      const { vendor, architecture, description } = device.adapterInfo;
      return { ok: true, device: [vendor, architecture, description].filter(Boolean).join(' ') };
    },
    supports: supportOf,
    createStore: (plan, options) => WebGpuStore.create(device, pipelines, plan, options),
  };
}

function supportOf(plan: Plan): BackendSupport {
  const reasons = refusals(plan);
  return reasons.length === 0 ? { kind: 'native' } : { kind: 'refused', reasons };
}
