/**
 * The scheme contract as a zod schema: validation, and the JSON Schema editors and other languages use.
 */
import * as z from 'zod';
import { checkedCodecs } from './codec-rules.js';
import { formatValue, LowbitKvError } from './errors.js';
import type { Calibration, Scheme } from './scheme.js';
import { checkSchemeRules } from './scheme-rules.js';
import { parseOrThrow } from './validate.js';

const count = z.int().min(0);
const positive = z.int().min(1);

/** Lower-case words joined by hyphens. Calibrations are looked up in objects by id, and `constructor` is in every object. */
const words = /^(?!constructor$)[a-z0-9]+(-[a-z0-9]+)*$/;

const groups = z.discriminatedUnion('along', [
  z.strictObject({ along: z.literal(['tokens', 'channels']), size: positive }),
  z.strictObject({ along: z.literal('vector'), scope: z.literal(['head', 'allHeads']) }),
]);

const levelTable = z.strictObject({
  levels: z.union([z.array(z.number()).min(2).max(256).readonly(), z.literal('calibrated')]),
  scaledBy: z.literal(['absoluteMaximum', 'rootMeanSquare', 'none']),
});

const quantizer = z.discriminatedUnion('mode', [
  z.strictObject({
    mode: z.literal('asymmetric'),
    codes: z.union([z.literal('uniform'), levelTable]),
  }),
  z.strictObject({
    mode: z.literal('symmetric'),
    codes: z.union([z.literal(['signmag', 'full', 'fullSigned', 'midRise']), levelTable]),
  }),
  z.strictObject({
    mode: z.literal('hybrid'),
    codes: z.literal(['signmag', 'full']),
    asymmetricBits: z.int().min(1).max(8),
    norm: z.literal('l1'),
    tie: z.literal(['symmetric', 'asymmetric']),
  }),
  z.strictObject({
    mode: z.literal('codec'),
    codes: z.string().regex(words, 'lower-case words joined by hyphens'),
    version: positive,
    groupBytes: positive,
  }),
]);

const parameterType = z.literal(['f16', 'f32', 'e4m3', 'e8m0']);

const share = z.number().min(0).max(1);
const outliers = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('bands'),
    shares: z.strictObject({ outer: share, middle: share, inner: share }),
    groupShift: z.boolean(),
    outlierBits: z.literal(5),
    storage: z.strictObject({
      format: z.literal(['coo64', 'bitmap64']),
      reserve: z.int().min(0).max(64),
    }),
  }),
  z.strictObject({
    kind: z.literal('top'),
    count: positive,
    storage: z.strictObject({ format: z.literal('list') }),
  }),
]);

const transform = z.discriminatedUnion('kind', [
  z.discriminatedUnion('scope', [
    z.strictObject({ kind: z.literal('tensorScale'), scope: z.literal('model') }),
    z.strictObject({
      kind: z.literal('tensorScale'),
      scope: z.literal('sequence'),
      statisticsTokens: positive,
      largest: z.number().positive(),
    }),
  ]),
  z.discriminatedUnion('scope', [
    z.strictObject({ kind: z.literal('channelScale'), scope: z.literal('model') }),
    z.strictObject({
      kind: z.literal('channelScale'),
      scope: z.literal('sequence'),
      statistic: z.literal('rootAbsoluteMaximum'),
      statisticsTokens: positive,
      clamp: z.tuple([z.number().positive(), z.number().positive()]).readonly(),
      minimumSpread: z.number().min(1),
    }),
  ]),
  z.discriminatedUnion('scope', [
    z.strictObject({ kind: z.literal('channelMean'), scope: z.literal('model') }),
    z.strictObject({
      kind: z.literal('channelMean'),
      scope: z.literal('sequence'),
      statisticsTokens: positive,
      minimumOffset: z.number().min(0).optional(),
    }),
  ]),
  z.strictObject({ kind: z.literal('channelOrder'), scope: z.literal('model') }),
  z.strictObject({ kind: z.literal('hadamard'), seed: z.uint32().optional() }),
]);

const quantizedTensor = z.strictObject({
  bits: z.literal([1, 2, 3, 4, 8]),
  groups,
  quantizer,
  parameters: z.strictObject({
    scale: parameterType.optional(),
    zero: z.literal(['f16', 'f32']).optional(),
  }),
  window: z.strictObject({ recent: count, flush: positive }),
  outliers: outliers.optional(),
  transforms: z.array(transform).readonly().optional(),
  stage: z.literal(['post-rope', 'pre-rope']).optional(),
});

const tensor = z.discriminatedUnion('bits', [
  z.strictObject({ bits: z.literal(16) }),
  quantizedTensor,
]);

const calibrationNeed = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('none') }),
  z.strictObject({ kind: z.literal('prefill') }),
  z.strictObject({
    kind: z.literal('offline'),
    values: z
      .array(
        z.literal([
          'thresholds',
          'levels',
          'tensorFactor',
          'channelFactors',
          'channelMeans',
          'channelOrder',
        ]),
      )
      .min(1)
      .readonly(),
  }),
]);

const schemeData = z.strictObject({
  specVersion: z.literal(1),
  id: z.string().max(64).regex(words, 'lower-case words joined by hyphens'),
  title: z.string().min(1),
  references: z.array(z.string()).readonly().optional(),
  compat: z.string().min(1).optional(),
  sinks: count,
  packing: z.literal(['before-attention', 'after-attention']),
  key: tensor,
  value: tensor,
  overrides: z
    .array(
      z.strictObject({
        layers: z.array(z.int()).min(1).readonly(),
        heads: z.array(count).min(1).readonly().optional(),
        key: tensor.optional(),
        value: tensor.optional(),
      }),
    )
    .readonly()
    .optional(),
  calibration: calibrationNeed,
});

const calibrationSchema = z.strictObject({
  specVersion: z.literal(1),
  scheme: z.string(),
  provenance: z.record(z.string(), z.string()),
  layers: z
    .array(
      z.strictObject({
        key: tensorCalibration().optional(),
        value: tensorCalibration().optional(),
      }),
    )
    .readonly(),
});

function tensorCalibration() {
  const perChannel = z.array(z.array(z.number()).readonly()).readonly();
  return z.strictObject({
    thresholds: z
      .strictObject({
        outerLow: z.number(),
        outerHigh: z.number(),
        innerLow: z.number(),
        innerHigh: z.number(),
      })
      .optional(),
    levels: z.array(z.number()).readonly().optional(),
    tensorFactor: z.number().optional(),
    channelFactors: perChannel.optional(),
    channelMeans: perChannel.optional(),
    channelOrder: perChannel.optional(),
  });
}

/** The serialisable part of a scheme: everything but its functions. */
export type SchemeData = Omit<Scheme, 'calibrate' | 'codecs'>;

/** JSON Schema (draft 2020-12) of the serialisable part of a scheme. */
export function schemeJsonSchema(): Record<string, unknown> {
  return z.toJSONSchema(schemeData) as Record<string, unknown>;
}

/** Copies the serialisable part of a scheme, validated. Throws SCHEME_INVALID or SPEC_VERSION_UNSUPPORTED. */
export function schemeDataOf(scheme: unknown): SchemeData {
  if (typeof scheme !== 'object' || scheme === null) {
    throw new LowbitKvError('SCHEME_INVALID', {
      message: 'a scheme must be an object',
      value: scheme,
      valid: 'an object that satisfies the Scheme interface',
      next: 'Pass the scheme itself, not the module that exports it.',
    });
  }
  const { calibrate, codecs: _, ...data } = scheme as Record<string, unknown>;
  if (data.specVersion !== 1) {
    throw new LowbitKvError('SPEC_VERSION_UNSUPPORTED', {
      message: `scheme ${formatValue(data.id)} has another specVersion`,
      value: data.specVersion,
      valid: [1],
      next: 'Install the version of the scheme package that matches this core, or update core.',
    });
  }
  if (calibrate !== undefined && typeof calibrate !== 'function') {
    throw new LowbitKvError('SCHEME_INVALID', {
      message: 'calibrate must be a function',
      value: calibrate,
      valid: '(samples) => Promise<LayerCalibration[]>, or leave it out',
      next: 'Correct the scheme.',
    });
  }
  const label = typeof data.id === 'string' ? `scheme ${JSON.stringify(data.id)}` : 'scheme';
  const parsed = parseOrThrow(
    schemeData,
    data,
    'SCHEME_INVALID',
    label,
    'Correct the field; the contract is the type Scheme of @lowbit-kv/core.',
  );
  const checked = parsed as unknown as SchemeData;
  checkSchemeRules(checked, label);
  return checked;
}

/**
 * Validates a scheme and returns it deeply frozen (a copy; the caller's object is untouched). Throws as schemeDataOf does,
 * and CODEC_INVALID.
 */
export function defineScheme(scheme: Scheme): Scheme {
  const data = structuredClone(schemeDataOf(scheme));
  const { calibrate, codecs } = scheme;
  return deepFreeze({
    ...data,
    ...(calibrate === undefined ? {} : { calibrate }),
    ...(codecs === undefined ? {} : { codecs: checkedCodecs(codecs) }),
  });
}

/** Validates a calibration read from JSON. Throws CALIBRATION_INVALID. */
export function parseCalibration(value: unknown): Calibration {
  return parseOrThrow(
    calibrationSchema,
    value,
    'CALIBRATION_INVALID',
    'calibration',
    'Make it again with the scheme it is for.',
  ) as unknown as Calibration;
}

/** Freezes an object and everything it holds. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) deepFreeze(part);
  }
  return value;
}
