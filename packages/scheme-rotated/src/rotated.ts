/**
 * Keys (after the rotary embedding) and values rotated by the orthonormal Hadamard matrix of the head, then plain groups
 * along channels: what llama.cpp does before its block formats, and RotateKV (arXiv:2501.16383) without its channel order.
 */
import {
  defineScheme,
  LowbitKvError,
  parseOrThrow,
  type QuantizedTensorScheme,
  type Scheme,
  type Transform,
} from '@lowbit-kv/core';
import * as z from 'zod';

export interface RotatedOptions {
  readonly bits: 2 | 3 | 4;
  /** Consecutive channels, after the rotation, that share parameters. Default 32. */
  readonly groupSize?: 32 | 64 | 128;
  /** `asymmetric` (default): scale and minimum. `symmetric`: all levels, a signed scale puts the largest magnitude on the lowest code. */
  readonly quantizer?: 'asymmetric' | 'symmetric';
  /** Subtract the mean of each channel before the rotation: of keys, or of both. Default `none`. */
  readonly centered?: 'none' | 'keys' | 'keys-and-values';
  /** Tokens after the sinks that means are measured on; nothing is packed before. Only with `centered`. Default 128. */
  readonly statisticsTokens?: number;
  /** First tokens that stay f16. Default 0. */
  readonly sinks?: number;
  /** Newest tokens that stay f16. Default 0. */
  readonly recent?: number;
  /** Default: made of the options, for example `rotated-4bit-g32`. */
  readonly id?: string;
}

const STATISTICS_TOKENS = 128;

const optionsSchema = z.strictObject({
  bits: z.literal([2, 3, 4]),
  groupSize: z.literal([32, 64, 128]).default(32),
  quantizer: z.literal(['asymmetric', 'symmetric']).default('asymmetric'),
  centered: z.literal(['none', 'keys', 'keys-and-values']).default('none'),
  statisticsTokens: z.int().min(1).optional(),
  sinks: z.int().min(0).default(0),
  recent: z.int().min(0).default(0),
  id: z.string().optional(),
});
type CheckedOptions = z.infer<typeof optionsSchema>;

/** Makes a rotated scheme for head dims of a power of two. Throws OPTION_INVALID for an option out of range or without effect. */
export function rotated(options: RotatedOptions): Scheme {
  const checked = parseOrThrow(
    optionsSchema,
    options,
    'OPTION_INVALID',
    'options of rotated',
    'Correct the option; the README of this package lists them.',
  );
  const { bits, groupSize, quantizer, centered, statisticsTokens, sinks, id } = checked;
  if (centered === 'none' && statisticsTokens !== undefined) {
    throw new LowbitKvError('OPTION_INVALID', {
      message: 'statisticsTokens has no effect on a scheme that measures nothing',
      value: statisticsTokens,
      valid: 'absent, or together with centered',
      next: "Leave it out, or set centered to 'keys' or 'keys-and-values'.",
      where: { field: 'statisticsTokens' },
    });
  }
  return defineScheme({
    specVersion: 1,
    id: id ?? defaultId(checked),
    title: `Hadamard rotation, ${bits} bits, ${quantizer} groups of ${groupSize}, centered: ${centered}`,
    references: ['https://github.com/ggml-org/llama.cpp', 'arXiv:2501.16383', 'arXiv:2404.00456'],
    sinks,
    packing: 'before-attention',
    key: tensorOf(checked, centered !== 'none'),
    value: tensorOf(checked, centered === 'keys-and-values'),
    calibration: { kind: centered === 'none' ? 'none' : 'prefill' },
  });
}

function tensorOf(options: CheckedOptions, centered: boolean): QuantizedTensorScheme {
  const { bits, groupSize, quantizer, statisticsTokens = STATISTICS_TOKENS, recent } = options;
  const transforms: Transform[] = [{ kind: 'hadamard' }];
  if (centered) transforms.unshift({ kind: 'channelMean', scope: 'sequence', statisticsTokens });
  return {
    bits,
    transforms,
    groups: { along: 'channels', size: groupSize },
    ...(quantizer === 'asymmetric'
      ? {
          quantizer: { mode: quantizer, codes: 'uniform' },
          parameters: { scale: 'f16', zero: 'f16' },
        }
      : { quantizer: { mode: quantizer, codes: 'fullSigned' }, parameters: { scale: 'f16' } }),
    window: { recent, flush: 1 },
  };
}

function defaultId(options: CheckedOptions): string {
  const { bits, groupSize, quantizer, centered, statisticsTokens, sinks, recent } = options;
  const parts = ['rotated', `${bits}bit`];
  if (quantizer === 'symmetric') parts.push(quantizer);
  parts.push(`g${groupSize}`);
  if (centered !== 'none') parts.push(centered === 'keys' ? 'centered-keys' : 'centered');
  if (statisticsTokens !== undefined && statisticsTokens !== STATISTICS_TOKENS)
    parts.push(`n${statisticsTokens}`);
  if (sinks > 0) parts.push(`s${sinks}`);
  if (recent > 0) parts.push(`r${recent}`);
  return parts.join('-');
}
