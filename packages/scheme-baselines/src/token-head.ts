/**
 * One scale, or scale and minimum, per token and kv head: the integer caches of vLLM, LMDeploy and QServe.
 */
import {
  defineScheme,
  parseOrThrow,
  type QuantizedTensorScheme,
  type Scheme,
} from '@lowbit-kv/core';
import * as z from 'zod';

export interface TokenHeadOptions {
  readonly bits: 4 | 8;
  /** `asymmetric`: unsigned codes over minimum to maximum. `symmetric`: signed codes, scale max|x| / (2^(bits-1) - 1). */
  readonly mode: 'asymmetric' | 'symmetric';
  /** Whether a step attends its own tokens as stored (default) or in f16. */
  readonly packing?: 'before-attention' | 'after-attention';
  /** Default: made of the options, for example `int4-token-head-asymmetric`. */
  readonly id?: string;
}

const optionsSchema = z.strictObject({
  bits: z.literal([4, 8]),
  mode: z.literal(['asymmetric', 'symmetric']),
  packing: z.literal(['before-attention', 'after-attention']).default('before-attention'),
  id: z.string().optional(),
});

/** Makes a scheme whose group is one token of one kv head, for any head dim. Throws OPTION_INVALID for an option out of range. */
export function tokenHead(options: TokenHeadOptions): Scheme {
  const { bits, mode, packing, id } = parseOrThrow(
    optionsSchema,
    options,
    'OPTION_INVALID',
    'options of tokenHead',
    'Correct the option; the README of this package lists them.',
  );
  const tensor = {
    bits,
    groups: { along: 'vector', scope: 'head' },
    window: { recent: 0, flush: 1 },
    ...(mode === 'asymmetric'
      ? {
          quantizer: { mode, codes: 'uniform' },
          parameters: { scale: 'f16', zero: 'f16' },
        }
      : { quantizer: { mode, codes: 'signmag' }, parameters: { scale: 'f16' } }),
  } as const satisfies QuantizedTensorScheme;
  const suffix = packing === 'before-attention' ? '' : '-f16-step';
  return defineScheme({
    specVersion: 1,
    id: id ?? `int${bits}-token-head-${mode}${suffix}`,
    title: `int${bits} per token and head, ${mode}`,
    references: ['https://github.com/vllm-project/vllm', 'https://github.com/InternLM/lmdeploy'],
    sinks: 0,
    packing,
    key: tensor,
    value: tensor,
    calibration: { kind: 'none' },
  });
}
