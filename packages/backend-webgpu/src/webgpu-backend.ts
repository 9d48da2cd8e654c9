/**
 * The backend over a GPUDevice of the caller.
 */
import type { Backend, BackendSupport, Plan } from '@lowbit-kv/core';
import { Pipelines } from './device/pipelines.js';
import { refusals } from './refusals.js';
import type { Precision, ShaderOptions } from './shaders/attention-programs.js';
import { WebGpuStore } from './store/webgpu-store.js';

export interface WebGpuBackendOptions {
  readonly device: GPUDevice;
  /** Default `exact`. */
  readonly precision?: Precision;
  /** Default: whatever the browser says `navigator.gpu` understands. */
  readonly wgslLanguageFeatures?: ReadonlySet<string>;
}

export function webgpuBackend({
  device,
  precision = 'exact',
  wgslLanguageFeatures = languageFeatures(),
}: WebGpuBackendOptions): Backend {
  const { subgroupMinSize, subgroupMaxSize } = device.adapterInfo;
  const shaders: ShaderOptions = {
    precision,
    subgroupsOf32:
      device.features.has('subgroups') && subgroupMinSize === 32 && subgroupMaxSize === 32,
    integerDots: wgslLanguageFeatures.has('packed_4x8_integer_dot_product'),
  };
  const pipelines = new Pipelines(device);
  return {
    specVersion: 1,
    id: 'webgpu',
    async probe() {
      const { vendor, architecture, description } = device.adapterInfo;
      return { ok: true, device: [vendor, architecture, description].filter(Boolean).join(' ') };
    },
    supports: supportOf,
    createStore: (plan, options) => WebGpuStore.create(device, pipelines, shaders, plan, options),
  };
}

function supportOf(plan: Plan): BackendSupport {
  const reasons = refusals(plan);
  return reasons.length === 0 ? { kind: 'native' } : { kind: 'refused', reasons };
}

/** Of the browser; none where there is no `navigator.gpu`. */
function languageFeatures(): ReadonlySet<string> {
  const { navigator } = globalThis as { readonly navigator?: { readonly gpu?: GPU } };
  return navigator?.gpu?.wgslLanguageFeatures ?? new Set();
}
