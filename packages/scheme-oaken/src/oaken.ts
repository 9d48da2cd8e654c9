/**
 * Oaken (ISCA 2025, arXiv:2503.18599): 4-bit codes of whole token vectors; outer and inner values are told apart by
 * thresholds calibrated offline, shifted, coded with 5 bits and stored sparsely beside the dense codes.
 */
import {
  defineScheme,
  LowbitKvError,
  type OutlierBands,
  parseOrThrow,
  type QuantizedTensorScheme,
  type Scheme,
} from '@lowbit-kv/core';
import * as z from 'zod';
import { calibrateThresholds } from './calibrate.js';

export interface OakenOptions {
  /** What shares the parameters of the bands: one token of one kv head (default), or of all kv heads (the paper). */
  readonly scope?: 'tokenHead' | 'token';
  /** Middle codes: `sm` (default) sign and magnitude, `mm` minimum and maximum with sides kept. */
  readonly middle?: 'sm' | 'mm';
  /** Shares of outer, middle and inner values that calibration aims at. Default 0.04, 0.90, 0.06. */
  readonly shares?: OutlierBands['shares'];
  /** Room for outliers per 64 channels, shared by the tokens of a block. Default 24; 64 holds everything. */
  readonly reserve?: number;
  /** Keys after (default) or before the rotary embedding; calibrate at the same stage. */
  readonly stage?: 'post-rope' | 'pre-rope';
  /** Default: made of the options, for example `oaken-sm`. */
  readonly id?: string;
}

export const DEFAULT_SHARES = { outer: 0.04, middle: 0.9, inner: 0.06 };
const DEFAULT_RESERVE = 24;
const share = z.number().min(0).max(1);

const optionsSchema = z.strictObject({
  scope: z.literal(['tokenHead', 'token']).default('tokenHead'),
  middle: z.literal(['sm', 'mm']).default('sm'),
  shares: z.strictObject({ outer: share, middle: share, inner: share }).default(DEFAULT_SHARES),
  reserve: z.int().min(0).max(64).default(DEFAULT_RESERVE),
  stage: z.literal(['post-rope', 'pre-rope']).default('post-rope'),
  id: z.string().optional(),
});

/** Makes an Oaken scheme. Throws OPTION_INVALID for an option out of range. */
export function oaken(options: OakenOptions = {}): Scheme {
  const checked = parseOrThrow(
    optionsSchema,
    options,
    'OPTION_INVALID',
    'options of oaken',
    'Correct the option; the README of this package lists them.',
  );
  const { scope, middle, shares, reserve, stage, id } = checked;
  const total = shares.outer + shares.middle + shares.inner;
  if (Math.abs(total - 1) > 1e-9) {
    throw new LowbitKvError('OPTION_INVALID', {
      message: 'the shares of outer, middle and inner values must add up to 1',
      value: total,
      valid: 'shares that add up to 1',
      next: 'Correct the shares; the paper takes 0.04, 0.90 and 0.06.',
      where: { field: 'shares' },
    });
  }
  const tensor: QuantizedTensorScheme = {
    bits: 4,
    groups: { along: 'vector', scope: scope === 'token' ? 'allHeads' : 'head' },
    ...(middle === 'sm'
      ? { quantizer: { mode: 'symmetric', codes: 'midRise' }, parameters: { scale: 'f16' } }
      : {
          quantizer: { mode: 'asymmetric', codes: 'uniform' },
          parameters: { scale: 'f16', zero: 'f16' },
        }),
    window: { recent: 0, flush: 1 },
    outliers: {
      kind: 'bands',
      shares,
      groupShift: true,
      outlierBits: 5,
      storage: { format: 'coo64', reserve },
    },
  };
  return defineScheme({
    specVersion: 1,
    id: id ?? defaultId(checked),
    title: `Oaken, ${middle} middle codes, parameters per ${scope === 'token' ? 'token' : 'token and head'}`,
    references: ['arXiv:2503.18599', 'https://github.com/casys-kaist/Oaken'],
    sinks: 0,
    packing: 'before-attention',
    key: { ...tensor, stage },
    value: tensor,
    calibration: { kind: 'offline', values: ['thresholds'] },
    calibrate: (samples) => calibrateThresholds(samples, shares),
  });
}

function defaultId(options: z.infer<typeof optionsSchema>): string {
  const { scope, middle, shares, reserve, stage } = options;
  const parts = ['oaken', middle];
  if (scope === 'token') parts.push('token');
  if (shares.outer !== DEFAULT_SHARES.outer || shares.inner !== DEFAULT_SHARES.inner) {
    const percent = [shares.outer, shares.middle, shares.inner].map((part) => {
      return String(Math.round(part * 10000) / 100).replace('.', 'p');
    });
    parts.push(percent.join('-'));
  }
  if (reserve !== DEFAULT_RESERVE) parts.push(`reserve-${reserve}`);
  if (stage === 'pre-rope') parts.push(stage);
  return parts.join('-');
}
