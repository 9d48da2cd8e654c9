/** The GPU of the browser, or why there is none: said aloud in the page. */
import type { Backend } from '@lowbit-kv/core';

export type Gpu =
  | { readonly kind: 'ready'; readonly backend: Backend; readonly device: string }
  | { readonly kind: 'none'; readonly reason: string };

/** `lost` is called when the device goes away later. */
export async function openGpu(lost: (reason: string) => void): Promise<Gpu> {
  if (!isSecureContext)
    return none('pages have WebGPU only over https or from localhost, and this one is neither');
  if (navigator.gpu === undefined) return none('this browser has no WebGPU');
  try {
    const adapter = await navigator.gpu.requestAdapter();
    if (adapter === null) return none('this browser has WebGPU, but no adapter for it');
    const wanted = (['subgroups', 'timestamp-query'] as const).filter((feature) =>
      adapter.features.has(feature),
    );
    const device = await adapter.requestDevice({ requiredFeatures: wanted });
    device.lost.then(({ message }) => lost(message || 'the device was lost'));
    const { webgpuBackend } = await import('./webgpu.js');
    const { vendor, architecture, description } = device.adapterInfo;
    return {
      kind: 'ready',
      backend: webgpuBackend({ device }),
      device:
        [vendor, architecture, description].filter((word) => word !== '').join(' ') ||
        'an adapter without a name',
    };
  } catch (error) {
    return none(`opening WebGPU failed: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function none(reason: string): Gpu {
  return { kind: 'none', reason };
}
