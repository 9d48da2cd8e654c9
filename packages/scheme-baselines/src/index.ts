/**
 * @lowbit-kv/scheme-baselines: plain formats that people compare with, as data over the scheme contract.
 */
export { type BlockFormat, type BlockFormatOptions, blockFormat } from './block-format.js';
export { type FloatFormat, type FloatFormatOptions, floatFormat } from './float-format.js';
export { e2m1Levels, e4m3Levels } from './float-levels.js';
export { presets, qserveKv4Like } from './presets.js';
export { type TokenHeadOptions, tokenHead } from './token-head.js';
