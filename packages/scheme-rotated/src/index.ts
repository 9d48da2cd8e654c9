/**
 * @lowbit-kv/scheme-rotated: Hadamard-rotated groups as data over the scheme contract.
 */
export { presets, rotated2, rotated3, rotated4, rotated4Symmetric } from './presets.js';
export { type RotatedOptions, rotated } from './rotated.js';
