/**
 * The rotated configurations that are registered by default.
 */
import type { Scheme } from '@lowbit-kv/core';
import { rotated } from './rotated.js';

export const rotated4 = rotated({ bits: 4 });
/** The codes of llama.cpp's q4_0, on rotated vectors. */
export const rotated4Symmetric = rotated({ bits: 4, quantizer: 'symmetric' });
export const rotated3 = rotated({ bits: 3 });
export const rotated2 = rotated({ bits: 2 });

const windows = { sinks: 32, recent: 96 } as const;

export const presets: readonly Scheme[] = Object.freeze([
  rotated4,
  rotated4Symmetric,
  rotated3,
  rotated({ bits: 3, quantizer: 'symmetric' }),
  rotated2,
  rotated({ bits: 4, centered: 'keys', ...windows }),
  rotated({ bits: 3, centered: 'keys', ...windows }),
  rotated({ bits: 2, centered: 'keys', ...windows }),
]);
