/**
 * The configurations of InnerQ that are registered by default.
 */
import type { Scheme } from '@lowbit-kv/core';
import { innerq } from './innerq.js';

/** Keys and values 3-bit. */
export const innerqBase = innerq({ variant: 'base' });
/** Keys 3-bit, values 2-bit. */
export const innerqSmall = innerq({ variant: 'small' });
/** Keys 3-bit, values 2-bit symmetric or asymmetric, whichever is closer. */
export const innerqHybrid = innerq({ variant: 'hybrid' });

export const presets: readonly Scheme[] = Object.freeze([
  innerqBase,
  innerqSmall,
  innerqHybrid,
  innerq({ variant: 'base', codes: 'fullSigned' }),
  innerq({ variant: 'small', codes: 'fullSigned' }),
]);
