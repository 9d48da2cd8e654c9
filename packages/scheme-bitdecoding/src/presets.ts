/**
 * The configurations of BitDecoding that are registered by default: both key layouts, both widths, three group sizes.
 */
import type { Scheme } from '@lowbit-kv/core';
import { bitdecoding } from './bitdecoding.js';

export const presets: readonly Scheme[] = Object.freeze(
  (['kc', 'kt'] as const).flatMap((keys) =>
    ([4, 2] as const).flatMap((bits) =>
      ([32, 64, 128] as const).map((groupSize) => bitdecoding({ keys, bits, groupSize })),
    ),
  ),
);
