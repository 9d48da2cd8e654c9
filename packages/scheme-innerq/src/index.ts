/**
 * @lowbit-kv/scheme-innerq: InnerQ as data over the scheme contract.
 */
export { type InnerqCodes, type InnerqOptions, type InnerqVariant, innerq } from './innerq.js';
export { innerqBase, innerqHybrid, innerqSmall, presets } from './presets.js';
