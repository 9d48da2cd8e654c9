/**
 * The block formats q8_0 and q4_0 of llama.cpp: one f16 scale per 32 consecutive channels of a token.
 */
import {
  defineScheme,
  parseOrThrow,
  type QuantizedTensorScheme,
  type Scheme,
} from '@lowbit-kv/core';
import * as z from 'zod';

/** `q8_0`: scale max|x| / 127. `q4_0`: signed scale that puts the value of largest magnitude on code -8. */
export type BlockFormat = 'q8_0' | 'q4_0';

export interface BlockFormatOptions {
  readonly keys: BlockFormat;
  readonly values: BlockFormat;
  /** Default: made of the options, for example `q8-0` or `q8-0-keys-q4-0-values`. */
  readonly id?: string;
}

const format = z.literal(['q8_0', 'q4_0']);
const optionsSchema = z.strictObject({ keys: format, values: format, id: z.string().optional() });

const BLOCK_CHANNELS = 32;

/** Makes a scheme of block formats, which keys and values choose apart. Throws OPTION_INVALID for an option out of range. */
export function blockFormat(options: BlockFormatOptions): Scheme {
  const { keys, values, id } = parseOrThrow(
    optionsSchema,
    options,
    'OPTION_INVALID',
    'options of blockFormat',
    'Correct the option; the README of this package lists them.',
  );
  const hyphenated = (name: BlockFormat) => name.replace('_', '-');
  return defineScheme({
    specVersion: 1,
    id:
      id ??
      (keys === values
        ? hyphenated(keys)
        : `${hyphenated(keys)}-keys-${hyphenated(values)}-values`),
    title: keys === values ? `${keys} blocks` : `${keys} blocks of keys, ${values} of values`,
    references: ['https://github.com/ggml-org/llama.cpp'],
    sinks: 0,
    packing: 'before-attention',
    key: blocksOf(keys),
    value: blocksOf(values),
    calibration: { kind: 'none' },
  });
}

function blocksOf(name: BlockFormat): QuantizedTensorScheme {
  const eight = name === 'q8_0';
  return {
    bits: eight ? 8 : 4,
    groups: { along: 'channels', size: BLOCK_CHANNELS },
    quantizer: { mode: 'symmetric', codes: eight ? 'signmag' : 'fullSigned' },
    parameters: { scale: 'f16' },
    window: { recent: 0, flush: 1 },
  };
}
