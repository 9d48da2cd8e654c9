/**
 * The configurations of KIVI that are registered by default: both widths at the group sizes of the paper's ablation.
 */
import type { Scheme } from '@lowbit-kv/core';
import { kivi } from './kivi.js';

/** 2 bits, groups of 32, residual 128: the authors' default. */
export const kivi2 = kivi({ bits: 2 });
/** 4 bits, groups of 32, residual 128: what the authors advise for grouped-query attention. */
export const kivi4 = kivi({ bits: 4 });

export const presets: readonly Scheme[] = Object.freeze([
  kivi2,
  kivi4,
  kivi({ bits: 2, groupSize: 64 }),
  kivi({ bits: 4, groupSize: 64 }),
  kivi({ bits: 2, groupSize: 128 }),
  kivi({ bits: 4, groupSize: 128 }),
]);
