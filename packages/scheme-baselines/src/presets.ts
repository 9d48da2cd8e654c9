/**
 * The configurations that are registered by default.
 */
import { defineScheme, type Scheme } from '@lowbit-kv/core';
import { blockFormat } from './block-format.js';
import { floatFormat } from './float-format.js';
import { tokenHead } from './token-head.js';

/** 4 bits per token and head with a minimum instead of QServe's zero in units of the scale, keys not smoothed. */
export const qserveKv4Like: Scheme = defineScheme({
  ...tokenHead({ bits: 4, mode: 'asymmetric', packing: 'after-attention' }),
  id: 'qserve-kv4-like',
  title: 'Like KV4 of QServe: 4 bits per token and head, asymmetric',
  references: ['arXiv:2405.04532', 'https://github.com/mit-han-lab/omniserve'],
});

export const presets: readonly Scheme[] = Object.freeze([
  tokenHead({ bits: 8, mode: 'asymmetric' }),
  tokenHead({ bits: 8, mode: 'symmetric' }),
  tokenHead({ bits: 4, mode: 'asymmetric' }),
  tokenHead({ bits: 4, mode: 'symmetric' }),
  blockFormat({ keys: 'q8_0', values: 'q8_0' }),
  blockFormat({ keys: 'q4_0', values: 'q4_0' }),
  blockFormat({ keys: 'q8_0', values: 'q4_0' }),
  qserveKv4Like,
  floatFormat({ keys: 'fp8-e4m3', values: 'fp8-e4m3' }),
  floatFormat({ keys: 'nvfp4', values: 'nvfp4' }),
  floatFormat({ keys: 'mxfp4', values: 'mxfp4' }),
]);
