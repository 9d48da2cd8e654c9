/**
 * @lowbit-kv/scheme-kivi: KIVI as data over the scheme contract.
 */
export { type KiviOptions, kivi } from './kivi.js';
export { kivi2, kivi4, presets } from './presets.js';
