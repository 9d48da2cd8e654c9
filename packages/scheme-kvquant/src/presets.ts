/**
 * The configurations of KVQuant that are registered by default.
 */
import type { Scheme } from '@lowbit-kv/core';
import { kvquant } from './kvquant.js';

export const kvquant2 = kvquant({ bits: 2 });
export const kvquant3 = kvquant({ bits: 3 });
export const kvquant4 = kvquant({ bits: 4 });

export const presets: readonly Scheme[] = Object.freeze([kvquant2, kvquant3, kvquant4]);
