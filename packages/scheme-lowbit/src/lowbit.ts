/**
 * The family of lowbit-kv itself: a tensor is centred, normalised and rotated, each step or none, and stored per token in
 * signed codes or in uniform levels over a root mean square. Keys and values choose apart.
 */
import {
  defineScheme,
  parseOrThrow,
  type QuantizedTensorScheme,
  type Scheme,
  type Transform,
} from '@lowbit-kv/core';
import * as z from 'zod';
import { midRiseLevels } from './mid-rise.js';

/** Parts of one tensor. Transforms apply in the order of the fields; left out, a transform is not applied. */
export interface LowbitTensor {
  readonly bits: 2 | 3 | 4;
  /**
   * Subtract the mean of each channel that is at least this multiple of the channel's mean absolute deviation, as measured
   * on the sequence; 0: of every channel.
   */
  readonly centerFrom?: number;
  /** Divide each channel by sqrt(max |x|), as measured on the sequence. */
  readonly normalize?: boolean;
  /** Rotate the head by the orthonormal Hadamard matrix after signs drawn from this seed, 0 to 2^32 - 1. */
  readonly rotationSeed?: number;
  /**
   * `signed`: all 2^bits levels, a signed scale puts the largest magnitude on the lowest code. `midRise`: uniform levels
   * around zero in units of the root mean square. A list: other levels in these units, at most 2^bits, rising.
   */
  readonly codes: 'signed' | 'midRise' | readonly number[];
  /** Consecutive channels of a token that share a scale, or the whole head. */
  readonly group: 32 | 64 | 128 | 'head';
}

export interface LowbitOptions {
  readonly id: string;
  readonly key: LowbitTensor;
  readonly value: LowbitTensor;
  /** First tokens that stay f16. Default 32. */
  readonly sinks?: number;
  /** Newest tokens that stay f16. Default 96. */
  readonly recent?: number;
  /** Tokens after the sinks that means and maxima are measured on. Default `recent + 1`: they never delay packing. */
  readonly statisticsTokens?: number;
}

const tensorSchema = z.strictObject({
  bits: z.literal([2, 3, 4]),
  centerFrom: z.number().min(0).optional(),
  normalize: z.boolean().default(false),
  rotationSeed: z.uint32().optional(),
  codes: z.union([z.literal(['signed', 'midRise']), z.array(z.number()).readonly()]),
  group: z.literal([32, 64, 128, 'head']),
});
const optionsSchema = z.strictObject({
  id: z.string(),
  key: tensorSchema,
  value: tensorSchema,
  sinks: z.int().min(0).default(32),
  recent: z.int().min(0).default(96),
  statisticsTokens: z.int().min(1).optional(),
});
type Part = z.infer<typeof tensorSchema>;

/** Makes a scheme of these parts. Throws OPTION_INVALID for an option out of range, SCHEME_INVALID for levels that do not fit. */
export function lowbit(options: LowbitOptions): Scheme {
  const { id, key, value, sinks, recent, statisticsTokens } = parseOrThrow(
    optionsSchema,
    options,
    'OPTION_INVALID',
    'options of lowbit',
    'Correct the option; the README of this package lists them.',
  );
  const tensors = [key, value] as const;
  const measures = tensors.some((part) => part.centerFrom !== undefined || part.normalize);
  const measured = statisticsTokens ?? recent + 1;
  return defineScheme({
    specVersion: 1,
    id,
    title: `keys: ${titleOf(key)}; values: ${titleOf(value)}`,
    sinks,
    packing: 'before-attention',
    key: tensorOf(key, recent, measured),
    value: tensorOf(value, recent, measured),
    calibration: { kind: measures ? 'prefill' : 'none' },
  });
}

function tensorOf(part: Part, recent: number, statisticsTokens: number): QuantizedTensorScheme {
  const { bits, group } = part;
  const transforms = transformsOf(part, statisticsTokens);
  return {
    bits,
    ...(transforms.length > 0 ? { transforms } : {}),
    groups:
      group === 'head' ? { along: 'vector', scope: 'head' } : { along: 'channels', size: group },
    quantizer: { mode: 'symmetric', codes: codesOf(part) },
    parameters: { scale: 'f16' },
    window: { recent, flush: 1 },
  };
}

function transformsOf(part: Part, statisticsTokens: number): Transform[] {
  const { centerFrom, normalize, rotationSeed } = part;
  const transforms: Transform[] = [];
  if (centerFrom !== undefined)
    transforms.push({
      kind: 'channelMean',
      scope: 'sequence',
      statisticsTokens,
      ...(centerFrom > 0 ? { minimumOffset: centerFrom } : {}),
    });
  if (normalize)
    transforms.push({
      kind: 'channelScale',
      scope: 'sequence',
      statistic: 'rootAbsoluteMaximum',
      statisticsTokens,
      clamp: [2 ** -6, 2 ** 6],
      minimumSpread: 1.2,
    });
  if (rotationSeed !== undefined) transforms.push({ kind: 'hadamard', seed: rotationSeed });
  return transforms;
}

function codesOf({ bits, codes }: Part) {
  if (codes === 'signed') return 'fullSigned';
  const levels = codes === 'midRise' ? midRiseLevels(bits) : codes;
  return { levels, scaledBy: 'rootMeanSquare' } as const;
}

function titleOf({ bits, centerFrom, normalize, rotationSeed, codes, group }: Part): string {
  const words = [
    centerFrom === undefined ? [] : ['centred'],
    normalize ? ['normalised'] : [],
    rotationSeed === undefined ? [] : ['rotated'],
    [`${bits} bits`, typeof codes === 'string' ? codes : 'levels'],
    [group === 'head' ? 'per head' : `per ${group} channels`],
  ];
  return words.flat().join(' ');
}
