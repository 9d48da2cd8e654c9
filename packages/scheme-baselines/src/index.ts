/**
 * @lowbit-kv/scheme-baselines: plain formats that people compare with, as data over the scheme contract.
 */
export { type BlockFormat, type BlockFormatOptions, blockFormat } from './block-format.js';
export { presets, qserveKv4Like } from './presets.js';
export { type TokenHeadOptions, tokenHead } from './token-head.js';
