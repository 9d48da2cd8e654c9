/**
 * @lowbit-kv/scheme-kivi/compat: the authors' arithmetic, bit for bit.
 */
export { kiviFp16Codec } from './fp16-codec.js';
export { compatPresets, kiviFp16 } from './kivi-fp16.js';
