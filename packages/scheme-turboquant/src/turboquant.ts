/**
 * TurboQuant_mse (Zandieh et al., arXiv:2504.19874): a vector is rotated, which makes its coordinates nearly normal, and
 * each coordinate takes the nearest Lloyd-Max level of the normal distribution, in units of the norm of the vector.
 */
import {
  defineScheme,
  parseOrThrow,
  type QuantizedTensorScheme,
  type Scheme,
} from '@lowbit-kv/core';
import * as z from 'zod';
import { lloydMaxLevels } from './lloyd-max.js';

export interface TurboquantOptions {
  /** Of keys, and of values unless `valueBits` says otherwise. */
  readonly bits: 2 | 3 | 4;
  /** Bits of values. Default: `bits`. */
  readonly valueBits?: 2 | 3 | 4;
  /** First tokens that stay f16. Default 0. */
  readonly sinks?: number;
  /** Newest tokens that stay f16. Default 0. */
  readonly recent?: number;
  /** Of the signs before the rotation, 0 to 2^32 - 1. Default 0. */
  readonly seed?: number;
  /** Default: made of the options, for example `turboquant-3bit`. */
  readonly id?: string;
}

const bitsSchema = z.literal([2, 3, 4]);
const optionsSchema = z.strictObject({
  bits: bitsSchema,
  valueBits: bitsSchema.optional(),
  sinks: z.int().min(0).default(0),
  recent: z.int().min(0).default(0),
  seed: z.uint32().default(0),
  id: z.string().optional(),
});

/** Makes a TurboQuant scheme for head dims of a power of two. Throws OPTION_INVALID for an option out of range. */
export function turboquant(options: TurboquantOptions): Scheme {
  const {
    bits,
    valueBits = bits,
    sinks,
    recent,
    seed,
    id,
  } = parseOrThrow(
    optionsSchema,
    options,
    'OPTION_INVALID',
    'options of turboquant',
    'Correct the option; the README of this package lists them.',
  );
  const parts = ['turboquant', `${bits}bit`];
  if (valueBits !== bits) parts.push(`${valueBits}bit-values`);
  if (sinks > 0) parts.push(`s${sinks}`);
  if (recent > 0) parts.push(`r${recent}`);
  if (seed > 0) parts.push(`seed${seed}`);
  const width = valueBits === bits ? `${bits} bits` : `${bits}-bit keys, ${valueBits}-bit values`;
  return defineScheme({
    specVersion: 1,
    id: id ?? parts.join('-'),
    title: `TurboQuant_mse, ${width}, ${sinks} sinks, ${recent} recent`,
    references: ['arXiv:2504.19874'],
    sinks,
    packing: 'before-attention',
    key: tensorOf(bits, recent, seed),
    value: tensorOf(valueBits, recent, seed),
    calibration: { kind: 'none' },
  });
}

function tensorOf(bits: 2 | 3 | 4, recent: number, seed: number): QuantizedTensorScheme {
  return {
    bits,
    transforms: [{ kind: 'hadamard', seed }],
    groups: { along: 'vector', scope: 'head' },
    // The scale is norm / sqrt(headDim), so levels are those of deviation 1.
    quantizer: {
      mode: 'symmetric',
      codes: { levels: lloydMaxLevels(bits), scaledBy: 'rootMeanSquare' },
    },
    parameters: { scale: 'f16' },
    window: { recent, flush: 1 },
  };
}
