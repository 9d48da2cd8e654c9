/**
 * The configurations that are registered by default, named by their bits per element at head dim 64, without windows.
 */
import type { Scheme } from '@lowbit-kv/core';
import { type LowbitTensor, lowbit } from './lowbit.js';

/** Groups of 32 channels with signed scales. A mean that is no larger than the spread is noise of the few tokens it is from. */
const signedKeys = (bits: 3 | 4): LowbitTensor => ({
  bits,
  centerFrom: 1,
  normalize: true,
  codes: 'signed',
  group: 32,
});

/** Centred only where a channel stands clearly off zero; elsewhere it hardly matters. */
const rotatedValues = (bits: 2 | 3 | 4): LowbitTensor => ({
  bits,
  centerFrom: 2,
  rotationSeed: 0,
  codes: 'midRise',
  group: 'head',
});

/** 2.25 bits. At 2 bits keys are better rotated, and their means are worth more tokens. */
export const lowbit23 = lowbit({
  id: 'lowbit-2-3',
  key: {
    bits: 2,
    centerFrom: 0,
    normalize: true,
    rotationSeed: 0,
    codes: 'midRise',
    group: 'head',
  },
  value: rotatedValues(2),
  statisticsTokens: 256,
});
/** 2.875 bits. */
export const lowbit29 = lowbit({ id: 'lowbit-2-9', key: signedKeys(3), value: rotatedValues(2) });
/** 3.375 bits. */
export const lowbit34 = lowbit({ id: 'lowbit-3-4', key: signedKeys(4), value: rotatedValues(2) });
/** 4.375 bits. */
export const lowbit44 = lowbit({ id: 'lowbit-4-4', key: signedKeys(4), value: rotatedValues(4) });

export const presets: readonly Scheme[] = Object.freeze([lowbit23, lowbit29, lowbit34, lowbit44]);
