/**
 * KVQuant (Hooper et al., NeurIPS 2024, arXiv:2401.18079): keys before the rotary embedding, normalised per channel by
 * thresholds measured offline; values normalised per token; codes stand for levels fitted offline; outliers stay f16.
 */
import {
  defineScheme,
  parseOrThrow,
  type QuantizedTensorScheme,
  type Scheme,
  type TopOutliers,
} from '@lowbit-kv/core';
import * as z from 'zod';
import { calibrateKvquant } from './calibrate.js';

export interface KvquantOptions {
  readonly bits: 2 | 3 | 4;
  /** Largest magnitudes of each token of a head that stay f16. Default 1; 0 stores none. */
  readonly outliers?: number;
  /** Share of a key channel that lies outside its thresholds, half on each side. Default 0.01. */
  readonly outlierShare?: number;
  /** First tokens that stay f16. Default 1. */
  readonly sinks?: number;
  /** Newest tokens that stay f16. Default 0. */
  readonly recent?: number;
  /** Default: made of the options, for example `kvquant-3bit`. */
  readonly id?: string;
}

const optionsSchema = z.strictObject({
  bits: z.literal([2, 3, 4]),
  outliers: z.int().min(0).default(1),
  outlierShare: z.number().min(0).max(0.5).default(0.01),
  sinks: z.int().min(0).default(1),
  recent: z.int().min(0).default(0),
  id: z.string().optional(),
});

/** Makes a KVQuant scheme. Throws OPTION_INVALID for an option out of range. */
export function kvquant(options: KvquantOptions): Scheme {
  const checked = parseOrThrow(
    optionsSchema,
    options,
    'OPTION_INVALID',
    'options of kvquant',
    'Correct the option; the README of this package lists them.',
  );
  const { bits, outliers, outlierShare, sinks, recent, id } = checked;
  const top: TopOutliers = { kind: 'top', count: outliers, storage: { format: 'list' } };
  const common = {
    bits,
    groups: { along: 'vector', scope: 'head' },
    window: { recent, flush: 1 },
    ...(outliers === 0 ? {} : { outliers: top }),
  } as const;
  const key: QuantizedTensorScheme = {
    ...common,
    stage: 'pre-rope',
    transforms: [
      { kind: 'channelMean', scope: 'model' },
      { kind: 'channelScale', scope: 'model' },
    ],
    quantizer: { mode: 'symmetric', codes: { levels: 'calibrated', scaledBy: 'none' } },
    parameters: {},
  };
  const value: QuantizedTensorScheme = {
    ...common,
    quantizer: {
      mode: 'asymmetric',
      codes: { levels: 'calibrated', scaledBy: 'absoluteMaximum' },
    },
    parameters: { scale: 'f16', zero: 'f16' },
  };
  return defineScheme({
    specVersion: 1,
    id: id ?? defaultId(checked),
    title: `KVQuant, ${bits} bits, ${outliers} outliers per token and head`,
    references: ['arXiv:2401.18079', 'https://github.com/SqueezeAILab/KVQuant'],
    sinks,
    packing: 'before-attention',
    key,
    value,
    calibration: { kind: 'offline', values: ['channelMeans', 'channelFactors', 'levels'] },
    calibrate: (samples) => calibrateKvquant(samples, { bits, outliers, outlierShare, sinks }),
  });
}

function defaultId(options: z.infer<typeof optionsSchema>): string {
  const { bits, outliers, outlierShare, sinks, recent } = options;
  const parts = [`kvquant-${bits}bit`];
  if (outliers !== 1) parts.push(outliers === 0 ? 'dense' : `top${outliers}`);
  if (outlierShare !== 0.01) parts.push(`share-${String(outlierShare).replace('.', 'p')}`);
  if (sinks !== 1) parts.push(`s${sinks}`);
  if (recent > 0) parts.push(`r${recent}`);
  return parts.join('-');
}
