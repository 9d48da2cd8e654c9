/**
 * Floating-point caches: FP8 E4M3 with one scale per tensor, NVFP4 and MXFP4 with one per block of channels.
 */
import {
  defineScheme,
  parseOrThrow,
  type QuantizedTensorScheme,
  type Scheme,
  type Transform,
} from '@lowbit-kv/core';
import * as z from 'zod';
import { e2m1Levels, e4m3Levels } from './float-levels.js';

/**
 * `fp8-e4m3`: E4M3 values over one scale of the tensor. `nvfp4`: E2M1 codes, an E4M3 scale per 16 channels of a token, one
 * scale of the tensor. `mxfp4`: E2M1 codes, a power of two per 32 channels of a token.
 */
export type FloatFormat = 'fp8-e4m3' | 'nvfp4' | 'mxfp4';

export interface FloatFormatOptions {
  readonly keys: FloatFormat;
  readonly values: FloatFormat;
  /** First tokens, whose largest magnitude sets the scale of the tensor; without effect on `mxfp4`. Default 128. */
  readonly statisticsTokens?: number;
  /** Default: made of the options, for example `nvfp4` or `fp8-e4m3-keys-nvfp4-values`. */
  readonly id?: string;
}

const TITLES = {
  'fp8-e4m3': 'FP8 E4M3, one scale per tensor',
  nvfp4: 'NVFP4',
  mxfp4: 'MXFP4',
} as const satisfies Record<FloatFormat, string>;

const REFERENCES = {
  'fp8-e4m3': 'OCP 8-bit Floating Point Specification (OFP8) v1.0',
  nvfp4:
    'https://developer.nvidia.com/blog/introducing-nvfp4-for-efficient-and-accurate-low-precision-inference/',
  mxfp4: 'OCP Microscaling Formats (MX) v1.0',
} as const satisfies Record<FloatFormat, string>;

const E2M1_LARGEST = 6;
const E4M3_LARGEST = 448;

const format = z.literal(['fp8-e4m3', 'nvfp4', 'mxfp4']);
const optionsSchema = z.strictObject({
  keys: format,
  values: format,
  statisticsTokens: z.int().min(1).default(128),
  id: z.string().optional(),
});

/** Makes a scheme of float formats, which keys and values choose apart. Throws OPTION_INVALID for an option out of range. */
export function floatFormat(options: FloatFormatOptions): Scheme {
  const { keys, values, statisticsTokens, id } = parseOrThrow(
    optionsSchema,
    options,
    'OPTION_INVALID',
    'options of floatFormat',
    'Correct the option; the README of this package lists them.',
  );
  const formats = [...new Set([keys, values])];
  const key = tensorOf(keys, statisticsTokens);
  const value = tensorOf(values, statisticsTokens);
  const measures = key.transforms !== undefined || value.transforms !== undefined;
  return defineScheme({
    specVersion: 1,
    id: id ?? (formats.length === 1 ? keys : `${keys}-keys-${values}-values`),
    title: formats.length === 1 ? TITLES[keys] : `${TITLES[keys]} keys, ${TITLES[values]} values`,
    references: formats.map((name) => REFERENCES[name]),
    sinks: 0,
    packing: 'before-attention',
    key,
    value,
    calibration: { kind: measures ? 'prefill' : 'none' },
  });
}

function tensorOf(name: FloatFormat, statisticsTokens: number): QuantizedTensorScheme {
  const window = { recent: 0, flush: 1 };
  const tensorScale = (largest: number): readonly Transform[] => [
    { kind: 'tensorScale', scope: 'sequence', statisticsTokens, largest },
  ];
  if (name === 'fp8-e4m3')
    return {
      bits: 8,
      transforms: tensorScale(E4M3_LARGEST),
      groups: { along: 'vector', scope: 'head' },
      quantizer: { mode: 'symmetric', codes: { levels: e4m3Levels(), scaledBy: 'none' } },
      parameters: {},
      window,
    };
  const levels = e2m1Levels();
  const blocks = {
    bits: 4,
    quantizer: { mode: 'symmetric', codes: { levels, scaledBy: 'absoluteMaximum' } },
    window,
  } as const;
  if (name === 'mxfp4')
    return {
      ...blocks,
      groups: { along: 'channels', size: 32 },
      parameters: { scale: 'e8m0' },
    };
  return {
    ...blocks,
    // The loudest block then has the largest scale that E4M3 can say.
    transforms: tensorScale(E4M3_LARGEST * E2M1_LARGEST),
    groups: { along: 'channels', size: 16 },
    parameters: { scale: 'e4m3' },
  };
}
