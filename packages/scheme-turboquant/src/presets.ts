/**
 * The configurations of TurboQuant that are registered by default.
 */
import type { Scheme } from '@lowbit-kv/core';
import { turboquant } from './turboquant.js';

export const turboquant2 = turboquant({ bits: 2 });
export const turboquant3 = turboquant({ bits: 3 });
export const turboquant4 = turboquant({ bits: 4 });
/** 2 bits with the first 32 and the newest 96 tokens in f16. */
export const turboquant2Windows = turboquant({ bits: 2, sinks: 32, recent: 96 });

export const presets: readonly Scheme[] = Object.freeze([
  turboquant2,
  turboquant3,
  turboquant4,
  turboquant2Windows,
]);
