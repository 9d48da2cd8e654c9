/**
 * @lowbit-kv/scheme-bitdecoding: the key and value layouts of BitDecoding as data over the scheme contract.
 */
export { type BitdecodingOptions, bitdecoding } from './bitdecoding.js';
export { presets } from './presets.js';
export { type ResidualBlockOptions, residualBlockTokens } from './residual-block.js';
