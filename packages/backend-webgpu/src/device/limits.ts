/**
 * Whether a device can hold a cache: every tensor of a layer is one buffer that is bound whole.
 */
import { LowbitKvError, type Plan, type StoreOptions } from '@lowbit-kv/core';
import { pageSizes } from '../store/tensor-memory.js';

/** Throws BACKEND_FAILED naming the limits to request. */
export function checkLimits({ limits }: GPUDevice, plan: Plan, { pages }: StoreOptions): void {
  let largest = 0;
  let where = {};
  for (const [layer, { key, value }] of plan.layers.entries()) {
    for (const tensor of [key, value]) {
      const sizes = pageSizes(tensor);
      const counts = pages[tensor.class];
      if (counts === undefined) continue;
      const bytes =
        counts.packed * sizes.packed +
        counts.window * sizes.window +
        counts.statistics * sizes.statistics;
      if (bytes <= largest) continue;
      largest = bytes;
      where = { tensor: tensor.tensor, layer };
    }
  }
  // Numbers of calibrated tensors lie in front of the pages.
  const needed = largest + 1024 * 1024;
  const { maxBufferSize, maxStorageBufferBindingSize } = limits;
  if (needed <= Math.min(maxBufferSize, maxStorageBufferBindingSize)) return;
  throw new LowbitKvError('BACKEND_FAILED', {
    message: 'a tensor of this cache is larger than a buffer of this device may be',
    value: { bytes: needed, maxBufferSize, maxStorageBufferBindingSize },
    valid: `at most ${Math.min(maxBufferSize, maxStorageBufferBindingSize)} bytes for one tensor of one layer`,
    next:
      `Request the device with requiredLimits { maxBufferSize: ${needed}, maxStorageBufferBindingSize: ${needed} } ` +
      'if its adapter has them, or create the cache with a smaller capacity.',
    where,
  });
}
