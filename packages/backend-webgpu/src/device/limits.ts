/**
 * Whether a device can hold a cache: a tensor of a layer is one buffer that is bound whole, or one for some of its heads.
 */
import { type LayerPlan, LowbitKvError, type Plan, type StoreOptions } from '@lowbit-kv/core';
import { headParts, partCounts } from '../store/head-parts.js';
import { pageSizes } from '../store/tensor-memory.js';

/** Numbers of calibrated tensors lie in front of the pages. */
const NUMBERS_BYTES = 1024 * 1024;

/** Each layer in as few parts as fit. Throws BACKEND_FAILED naming the limits to request. */
export function fittingParts(
  { limits }: GPUDevice,
  plan: Plan,
  options: StoreOptions,
): LayerPlan[][] {
  const { maxBufferSize, maxStorageBufferBindingSize } = limits;
  const most = Math.min(maxBufferSize, maxStorageBufferBindingSize);
  return plan.layers.map((layer, number) => {
    let smallest = 0;
    for (const count of partCounts(layer)) {
      const parts = headParts(layer, count);
      smallest = largestTensor(parts[0] as LayerPlan, options);
      if (smallest <= most) return parts;
    }
    throw new LowbitKvError('BACKEND_FAILED', {
      message: 'a tensor of this cache is larger than buffers of this device may be',
      value: { bytes: smallest, maxBufferSize, maxStorageBufferBindingSize },
      valid: `at most ${most} bytes for the heads of one tensor of one layer that stay together`,
      next:
        `Request the device with requiredLimits { maxBufferSize: ${smallest}, maxStorageBufferBindingSize: ${smallest} } ` +
        'if its adapter has them, or create the cache with a smaller capacity.',
      where: { layer: number },
    });
  });
}

/** Bytes of the larger of keys and values. */
function largestTensor({ key, value }: LayerPlan, { pages }: StoreOptions): number {
  const bytes = [key, value].map((tensor) => {
    const sizes = pageSizes(tensor);
    const counts = pages[tensor.class] ?? { packed: 0, window: 0, statistics: 0 };
    return (
      counts.packed * sizes.packed +
      counts.window * sizes.window +
      counts.statistics * sizes.statistics
    );
  });
  return Math.max(...bytes) + NUMBERS_BYTES;
}
