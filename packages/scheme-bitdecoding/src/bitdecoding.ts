/**
 * BitDecoding (arXiv:2503.18773): asymmetric groups, keys per channel or per token, values per token, and both packed
 * together whenever a residual block is full.
 */
import {
  defineScheme,
  parseOrThrow,
  type QuantizedTensorScheme,
  type Scheme,
} from '@lowbit-kv/core';
import * as z from 'zod';
import { residualBlockTokens } from './residual-block.js';

export interface BitdecodingOptions {
  readonly bits: 2 | 4;
  /**
   * `kc`: a group of keys is one channel, consecutive tokens (the authors' `k-channel`). `kt`: one token, consecutive
   * channels (`k-tensor`).
   */
  readonly keys: 'kc' | 'kt';
  /** Elements that share a scale and a minimum. Default 128. */
  readonly groupSize?: 32 | 64 | 128;
  /** Tokens packed at once; with `kc` a multiple of the group size. Default `residualBlockTokens(bits)`. */
  readonly residualBlock?: number;
  /** Default: made of the options, for example `bitdecoding-kc-4bit-g128`. */
  readonly id?: string;
}

const optionsSchema = z.strictObject({
  bits: z.literal([2, 4]),
  keys: z.literal(['kc', 'kt']),
  groupSize: z.literal([32, 64, 128]).default(128),
  residualBlock: z.int().min(1).optional(),
  id: z.string().optional(),
});

/** Makes a BitDecoding scheme. Throws OPTION_INVALID for an option out of range, SCHEME_INVALID for a block of broken groups. */
export function bitdecoding(options: BitdecodingOptions): Scheme {
  const { bits, keys, groupSize, residualBlock, id } = parseOrThrow(
    optionsSchema,
    options,
    'OPTION_INVALID',
    'options of bitdecoding',
    'Correct the option; the README of this package lists them.',
  );
  const usual = residualBlockTokens(bits);
  const flush = residualBlock ?? usual;
  const suffix = flush === usual ? '' : `-nr${flush}`;
  const layout = keys === 'kc' ? 'keys per channel' : 'keys per token';
  const affine = {
    bits,
    quantizer: { mode: 'asymmetric', codes: 'uniform' },
    parameters: { scale: 'f16', zero: 'f16' },
    window: { recent: 0, flush },
  } as const satisfies Partial<QuantizedTensorScheme>;
  return defineScheme({
    specVersion: 1,
    id: id ?? `bitdecoding-${keys}-${bits}bit-g${groupSize}${suffix}`,
    title: `BitDecoding, ${layout}, ${bits} bits, groups of ${groupSize}, residual block ${flush}`,
    references: ['arXiv:2503.18773', 'https://github.com/DD-DuDa/BitDecoding'],
    sinks: 0,
    packing: 'after-attention',
    key: {
      ...affine,
      groups: { along: keys === 'kc' ? 'tokens' : 'channels', size: groupSize },
    },
    value: { ...affine, groups: { along: 'channels', size: groupSize } },
    calibration: { kind: 'none' },
  });
}
