/**
 * The residual block of BitDecoding: how many tokens fill the packed words of one tile of tensor-core instructions.
 */
import { LowbitKvError, parseOrThrow } from '@lowbit-kv/core';
import * as z from 'zod';

export interface ResidualBlockOptions {
  /** Pn: tokens that one matrix instruction covers along its N dimension. Default 8, of m16n8k16. */
  readonly instructionTokens?: number;
  /** Wn: warps of a thread block along the tokens. Default 4. */
  readonly warps?: number;
  /** Omega: bits of a packed word. Default 16. */
  readonly wordBits?: 16 | 32;
}

const optionsSchema = z.strictObject({
  instructionTokens: z.int().min(1).default(8),
  warps: z.int().min(1).default(4),
  wordBits: z.literal([16, 32]).default(16),
});

/**
 * Nr = Pn * Wn * R tokens with the packing ratio R = omega / beta, beta the bits of a code (arXiv:2503.18773): 128 at
 * 4 bits and 256 at 2 with the defaults, which are the authors'. Throws OPTION_INVALID when codes do not fill words.
 */
export function residualBlockTokens(bits: number, options: ResidualBlockOptions = {}): number {
  const { instructionTokens, warps, wordBits } = parseOrThrow(
    optionsSchema,
    options,
    'OPTION_INVALID',
    'options of residualBlockTokens',
    'Correct the option; the README of this package lists them.',
  );
  if (!Number.isInteger(bits) || bits < 1 || wordBits % bits !== 0) {
    throw new LowbitKvError('OPTION_INVALID', {
      message: 'codes of this width do not fill whole words',
      value: bits,
      valid: `a whole number of bits that divides ${wordBits}`,
      next: 'BitDecoding has codes of 2 and 4 bits.',
    });
  }
  return instructionTokens * warps * (wordBits / bits);
}
