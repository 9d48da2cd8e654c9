/** The baseline of comparisons and evaluations. */
import type { Scheme } from '@lowbit-kv/core';

/** The same cache with nothing quantized. */
export const F16: Scheme = Object.freeze({
  specVersion: 1,
  id: 'f16',
  title: 'f16, the baseline',
  sinks: 0,
  packing: 'after-attention',
  key: { bits: 16 },
  value: { bits: 16 },
  calibration: { kind: 'none' },
} as const);
