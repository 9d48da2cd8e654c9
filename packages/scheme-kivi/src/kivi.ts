/**
 * KIVI (Liu et al., ICML 2024, arXiv:2402.02750): asymmetric groups, keys per channel over consecutive tokens, values
 * per token over consecutive channels, and a full-precision residual of the newest tokens.
 */
import {
  defineScheme,
  parseOrThrow,
  type QuantizedTensorScheme,
  type Scheme,
} from '@lowbit-kv/core';
import * as z from 'zod';

export interface KiviOptions {
  readonly bits: 2 | 4;
  /** Elements that share a scale and a minimum, of keys along tokens and of values along channels. Default 32. */
  readonly groupSize?: 32 | 64 | 128;
  /** Keys are packed this many at a time; this many newest values stay f16. A multiple of the group size. Default 128. */
  readonly residualLength?: number;
  /** Default: made of the options, for example `kivi-2bit-g32`. */
  readonly id?: string;
}

const optionsSchema = z.strictObject({
  bits: z.literal([2, 4]),
  groupSize: z.literal([32, 64, 128]).default(32),
  residualLength: z.int().min(1).default(128),
  id: z.string().optional(),
});

/** Makes a KIVI scheme. Throws OPTION_INVALID for an option out of range, SCHEME_INVALID for a residual of broken groups. */
export function kivi(options: KiviOptions): Scheme {
  const { bits, groupSize, residualLength, id } = parseOrThrow(
    optionsSchema,
    options,
    'OPTION_INVALID',
    'options of kivi',
    'Correct the option; the README of this package lists them.',
  );
  const residual = residualLength === 128 ? '' : `-r${residualLength}`;
  const affine = {
    bits,
    quantizer: { mode: 'asymmetric', codes: 'uniform' },
    parameters: { scale: 'f16', zero: 'f16' },
  } as const satisfies Partial<QuantizedTensorScheme>;
  return defineScheme({
    specVersion: 1,
    id: id ?? `kivi-${bits}bit-g${groupSize}${residual}`,
    title: `KIVI, ${bits} bits, groups of ${groupSize}, residual ${residualLength}`,
    references: ['arXiv:2402.02750', 'https://github.com/jy-yuan/KIVI'],
    sinks: 0,
    packing: 'after-attention',
    key: {
      ...affine,
      groups: { along: 'tokens', size: groupSize },
      window: { recent: 0, flush: residualLength },
    },
    value: {
      ...affine,
      groups: { along: 'channels', size: groupSize },
      window: { recent: residualLength, flush: 1 },
    },
    calibration: { kind: 'none' },
  });
}
