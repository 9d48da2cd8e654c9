/**
 * InnerQ (arXiv:2602.23200): groups along the inner dimension of both products, keys per token over consecutive
 * channels and values per channel over consecutive tokens, with f16 sinks, an f16 recent window and key normalisation.
 */
import {
  defineScheme,
  LowbitKvError,
  parseOrThrow,
  type QuantizedTensorScheme,
  type Quantizer,
  type Scheme,
  type Transform,
} from '@lowbit-kv/core';
import * as z from 'zod';

export type InnerqVariant = 'base' | 'small' | 'hybrid';
export type InnerqCodes = 'full' | 'signmag' | 'fullSigned';

export interface InnerqOptions {
  /** `base`: 3-bit keys and values. `small`: values 2-bit. `hybrid`: values 2-bit, symmetric or asymmetric per group. */
  readonly variant: InnerqVariant;
  /**
   * `full` (default): two's complement, all levels. `signmag`: the authors' accuracy model, sign and magnitude.
   * `fullSigned`: all levels with a signed scale; not with `hybrid`, where the sign of the scale is the mode.
   */
  readonly codes?: InnerqCodes;
  /** Keys packed at once: 32 (default, like values) or 1 (the authors). */
  readonly keyFlush?: 32 | 1;
  /** First tokens that stay f16. Default 32. */
  readonly sinks?: number;
  /** Newest tokens that stay f16. Default 96. */
  readonly recent?: number;
  /** Divide key channels by sqrt(max |K|) before quantization. Default true. */
  readonly normalizeKeys?: boolean;
  /** Tokens after the sinks that the normaliser is measured on. Default `recent + keyFlush`: it never delays packing. */
  readonly statisticsTokens?: number;
  /** Default: made of the options, for example `innerq-base`. */
  readonly id?: string;
}

const GROUP_SIZE = 32;
const VALUE_FLUSH = 32;
const KEY_BITS = 3;

const optionsSchema = z.strictObject({
  variant: z.literal(['base', 'small', 'hybrid']),
  codes: z.literal(['full', 'signmag', 'fullSigned']).default('full'),
  keyFlush: z.literal([32, 1]).default(32),
  sinks: z.int().min(0).default(32),
  recent: z.int().min(0).default(96),
  normalizeKeys: z.boolean().default(true),
  statisticsTokens: z.int().min(1).optional(),
  id: z.string().optional(),
});

/** Makes an InnerQ scheme. Throws OPTION_INVALID for an option out of range or a hybrid of signed scales. */
export function innerq(options: InnerqOptions): Scheme {
  const checked = parseOrThrow(
    optionsSchema,
    options,
    'OPTION_INVALID',
    'options of innerq',
    'Correct the option; the README of this package lists them.',
  );
  const { variant, codes, keyFlush, sinks, recent, normalizeKeys, id } = checked;
  const normalise: Transform = {
    kind: 'channelScale',
    scope: 'sequence',
    statistic: 'rootAbsoluteMaximum',
    statisticsTokens: checked.statisticsTokens ?? recent + keyFlush,
    clamp: [2 ** -6, 2 ** 6],
    minimumSpread: 1.2,
  };
  return defineScheme({
    specVersion: 1,
    id: id ?? defaultId(checked),
    title: `InnerQ ${variant}, ${codes} codes`,
    references: ['arXiv:2602.23200', 'https://github.com/mthcom/innerq'],
    sinks,
    packing: 'before-attention',
    key: {
      bits: KEY_BITS,
      groups: { along: 'channels', size: GROUP_SIZE },
      quantizer: { mode: 'symmetric', codes },
      parameters: { scale: 'f16' },
      window: { recent, flush: keyFlush },
      ...(normalizeKeys ? { transforms: [normalise] } : {}),
    },
    value: {
      ...valueCodes(variant, codes),
      groups: { along: 'tokens', size: GROUP_SIZE },
      window: { recent, flush: VALUE_FLUSH },
    },
    calibration: { kind: normalizeKeys ? 'prefill' : 'none' },
  });
}

type ValueCodes = Pick<QuantizedTensorScheme, 'bits' | 'quantizer' | 'parameters'>;

function valueCodes(variant: InnerqVariant, codes: InnerqCodes): ValueCodes {
  if (variant === 'hybrid') {
    return {
      bits: 2,
      quantizer: hybridOf(codes),
      parameters: { scale: 'f16', zero: 'f16' },
    };
  }
  return {
    bits: variant === 'base' ? 3 : 2,
    quantizer: { mode: 'symmetric', codes },
    parameters: { scale: 'f16' },
  };
}

/** The authors' accuracy model gives the asymmetric candidate one bit less and prefers it on a tie. */
function hybridOf(codes: InnerqCodes): Quantizer {
  if (codes === 'fullSigned') {
    throw new LowbitKvError('OPTION_INVALID', {
      message: 'signed scales cannot be hybrid: the sign of the scale is the mode of the group',
      value: codes,
      valid: ['full', 'signmag'],
      next: 'Choose other codes, or the variant small, which beats hybrid with these on data of mean zero.',
      where: { field: 'codes' },
    });
  }
  const rule = { mode: 'hybrid', norm: 'l1' } as const;
  return codes === 'full'
    ? { ...rule, codes, asymmetricBits: 2, tie: 'symmetric' }
    : { ...rule, codes, asymmetricBits: 1, tie: 'asymmetric' };
}

function defaultId(options: z.infer<typeof optionsSchema>): string {
  const { variant, codes, keyFlush, sinks, recent, normalizeKeys, statisticsTokens } = options;
  const parts = ['innerq', variant];
  if (codes !== 'full') parts.push(codes === 'signmag' ? 'signmag' : 'full-signed');
  if (keyFlush !== 32) parts.push(`key-flush-${keyFlush}`);
  if (sinks !== 32) parts.push(`s${sinks}`);
  if (recent !== 96) parts.push(`r${recent}`);
  if (!normalizeKeys) parts.push('plain-keys');
  else if (statisticsTokens !== undefined && statisticsTokens !== recent + keyFlush)
    parts.push(`n${statisticsTokens}`);
  return parts.join('-');
}
