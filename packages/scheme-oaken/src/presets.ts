/**
 * The configurations of Oaken that are registered by default.
 */
import type { Scheme } from '@lowbit-kv/core';
import { oaken } from './oaken.js';

/** Sign and magnitude middle codes, parameters per token and kv head. */
export const oakenSm = oaken({ middle: 'sm' });
/** Minimum and maximum middle codes: better where values lie far from zero. */
export const oakenMm = oaken({ middle: 'mm' });
/** Parameters per token over all kv heads, as the paper counts them. */
export const oakenSmToken = oaken({ middle: 'sm', scope: 'token' });

export const presets: readonly Scheme[] = Object.freeze([oakenSm, oakenMm, oakenSmToken]);
