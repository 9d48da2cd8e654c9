/**
 * @lowbit-kv/backend-webgpu/node: the backend on dawn. The peer `webgpu` is imported when a device is asked for.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import { type WebGpuBackendOptions, webgpuBackend } from './webgpu-backend.js';

export interface NodeGpuOptions extends Omit<WebGpuBackendOptions, 'device'> {
  /** Arguments of dawn, for example `backend=vulkan`. */
  readonly dawn?: readonly string[];
  /** Further features to request where the adapter has them, for example `timestamp-query`. */
  readonly features?: readonly GPUFeatureName[];
}

export interface NodeGpu {
  readonly gpu: GPU;
  readonly device: GPUDevice;
  readonly backend: ReturnType<typeof webgpuBackend>;
}

/**
 * The backend on the fastest adapter that dawn finds, with its limits and the features that shaders here use. Throws
 * PEER_MISSING or BACKEND_UNAVAILABLE. `device.destroy()` lets the process end.
 */
export async function openNodeGpu({
  dawn = [],
  features = [],
  ...options
}: NodeGpuOptions = {}): Promise<NodeGpu> {
  const { create } = await importDawn();
  const gpu = create([...dawn]);
  const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' });
  if (adapter === null) {
    throw new LowbitKvError('BACKEND_UNAVAILABLE', {
      message: 'dawn finds no adapter',
      value: { platform: process.platform, dawn },
      valid: 'a GPU with a Vulkan, Metal or D3D12 driver',
      next: 'Install the driver and its Vulkan loader (libvulkan.so.1 on Linux), or use another backend.',
    });
  }
  const { limits } = adapter;
  const device = await adapter.requestDevice({
    requiredFeatures: ['subgroups' as GPUFeatureName, ...features].filter((feature) =>
      adapter.features.has(feature),
    ),
    requiredLimits: {
      maxBufferSize: limits.maxBufferSize,
      maxStorageBufferBindingSize: limits.maxStorageBufferBindingSize,
    },
  });
  // Dawn ends the process when the instance is collected before its devices.
  Object.defineProperty(device, Symbol('GPU instance'), { value: gpu });
  const backend = webgpuBackend({
    device,
    wgslLanguageFeatures: gpu.wgslLanguageFeatures,
    ...options,
  });
  return { gpu, device, backend };
}

async function importDawn(): Promise<typeof import('webgpu')> {
  try {
    return await import('webgpu');
  } catch (cause) {
    const code = (cause as { readonly code?: unknown }).code;
    const isMissing = code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND';
    throw new LowbitKvError(isMissing ? 'PEER_MISSING' : 'BACKEND_UNAVAILABLE', {
      message: isMissing ? 'webgpu is not installed' : 'webgpu is installed but does not load',
      value: cause instanceof Error ? cause.message : cause,
      valid: 'webgpu 0.6.2 or newer, with a library for this platform',
      next: isMissing
        ? 'Run `npm install webgpu` (pnpm: `pnpm add webgpu`).'
        : `Check that webgpu supports ${process.platform}-${process.arch}, then install it again.`,
      cause,
    });
  }
}
