/**
 * @lowbit-kv/scheme-lowbit: the family of lowbit-kv itself, as data over the scheme contract.
 */
export { type LowbitOptions, type LowbitTensor, lowbit } from './lowbit.js';
export { midRiseLevels } from './mid-rise.js';
export { lowbit23, lowbit29, lowbit34, lowbit44, presets } from './presets.js';
