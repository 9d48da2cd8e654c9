/**
 * Scheme objects built inline from settings, one builder per quantizer and outlier rule: nobody's scheme, so that backends
 * are tested without knowing any.
 */
import type { GroupCodec } from '../codec.js';
import { type Geometry, resolveGeometry } from '../geometry.js';
import { isMeasured, transformsOf } from '../law/transform-numbers.js';
import { schemeFingerprint } from '../plan/plan.js';
import type {
  Calibration,
  CalibrationNeed,
  CalibrationValue,
  QuantizedTensorScheme,
  Scheme,
  TensorCalibration,
  TensorScheme,
} from '../scheme.js';
import { calibratedValues } from '../scheme-rules.js';

const f16 = 'f16' as const;

export function asymmetric(
  bits: 1 | 2 | 3 | 4 | 8,
  along: 'tokens' | 'channels',
  size: number,
  window = { recent: 0, flush: along === 'tokens' ? size : 1 },
): QuantizedTensorScheme {
  return {
    bits,
    groups: { along, size },
    quantizer: { mode: 'asymmetric', codes: 'uniform' },
    parameters: { scale: f16, zero: f16 },
    window,
  };
}

export function symmetric(
  bits: 1 | 2 | 3 | 4 | 8,
  codes: 'signmag' | 'full' | 'fullSigned',
  along: 'tokens' | 'channels',
  size: number,
  window = { recent: 0, flush: along === 'tokens' ? size : 1 },
): QuantizedTensorScheme {
  return {
    bits,
    groups: { along, size },
    quantizer: { mode: 'symmetric', codes },
    parameters: { scale: f16 },
    window,
  };
}

export function hybrid(
  bits: 2 | 3 | 4 | 8,
  codes: 'signmag' | 'full',
  asymmetricBits: number,
  tie: 'symmetric' | 'asymmetric',
  along: 'tokens' | 'channels',
  size: number,
  window = { recent: 0, flush: along === 'tokens' ? size : 1 },
): QuantizedTensorScheme {
  return {
    bits,
    groups: { along, size },
    quantizer: { mode: 'hybrid', codes, asymmetricBits, norm: 'l1', tie },
    parameters: { scale: f16, zero: f16 },
    window,
  };
}

export function bands(
  middle: 'midRise' | 'uniform',
  scope: 'head' | 'allHeads',
  reserve = 64,
  window = { recent: 0, flush: 1 },
): QuantizedTensorScheme {
  return {
    bits: 4,
    groups: { along: 'vector', scope },
    quantizer:
      middle === 'midRise'
        ? { mode: 'symmetric', codes: 'midRise' }
        : { mode: 'asymmetric', codes: 'uniform' },
    parameters: middle === 'midRise' ? { scale: f16 } : { scale: f16, zero: f16 },
    window,
    outliers: {
      kind: 'bands',
      shares: { outer: 0.04, middle: 0.9, inner: 0.06 },
      groupShift: true,
      outlierBits: 5,
      storage: { format: 'coo64', reserve },
    },
  };
}

export function channelScaled(
  tensor: QuantizedTensorScheme,
  statisticsTokens: number,
  minimumSpread = 1,
): QuantizedTensorScheme {
  return {
    ...tensor,
    transforms: [
      {
        kind: 'channelScale',
        scope: 'sequence',
        statistic: 'rootAbsoluteMaximum',
        statisticsTokens,
        clamp: [2 ** -6, 2 ** 6],
        minimumSpread,
      },
    ],
  };
}

export interface SchemeParts {
  readonly key: TensorScheme;
  readonly value: TensorScheme;
  readonly sinks?: number;
  readonly packing?: Scheme['packing'];
  readonly codecs?: readonly GroupCodec[];
}

/** A scheme of these two tensors; what it needs as calibration follows from them. */
export function inlineScheme({ key, value, sinks = 0, packing, codecs }: SchemeParts): Scheme {
  return {
    specVersion: 1,
    id: 'inline',
    title: 'Inline scheme',
    sinks,
    packing: packing ?? 'before-attention',
    key,
    value,
    calibration: inlineNeed([key, value]),
    ...(codecs === undefined ? {} : { codecs }),
  };
}

/** What tensors ask of calibration. */
export function inlineNeed(tensors: readonly TensorScheme[]): CalibrationNeed {
  const packed = tensors.filter((tensor) => tensor.bits !== 16);
  const values = [...new Set(packed.flatMap(calibratedValues))];
  if (values.length > 0) return { kind: 'offline', values };
  const measured = packed.some((scheme) => transformsOf({ scheme }).some(isMeasured));
  return { kind: measured ? 'prefill' : 'none' };
}

/** Values of everything a scheme asks for, different in every layer, tensor, head and channel. */
export function inlineCalibration(target: Scheme, geometry: Geometry): Calibration | undefined {
  const need = target.calibration;
  if (need.kind !== 'offline') return undefined;
  return {
    specVersion: 1,
    scheme: schemeFingerprint(target),
    provenance: { source: 'constants of a test' },
    layers: resolveGeometry(geometry).map(({ kvHeads, keyHeadDim, valueHeadDim }, layer) => ({
      key: tensorCalibration(need.values, target.key, layer, kvHeads, keyHeadDim),
      value: tensorCalibration(need.values, target.value, layer + 1, kvHeads, valueHeadDim),
    })),
  };
}

function tensorCalibration(
  values: readonly CalibrationValue[],
  tensor: TensorScheme,
  salt: number,
  heads: number,
  headDim: number,
): TensorCalibration {
  const channels = (value: (channel: number, head: number) => number) =>
    Array.from({ length: heads }, (_, head) =>
      Array.from({ length: headDim }, (_, channel) => value(channel, head)),
    );
  // Multiples of the channel are an order where they share no factor with the head dim.
  const step = [3, 5, 7, 11].find((n) => headDim % n !== 0) as number;
  const overZero = tensor.bits !== 16 && tensor.quantizer.mode === 'asymmetric';
  const all: Required<TensorCalibration> = {
    thresholds: {
      outerLow: -1.75 - salt / 4,
      outerHigh: 1.5 + salt / 4,
      innerLow: -0.0625,
      innerHigh: 0.125,
    },
    levels: overZero
      ? [0, 0.2, 0.55 + salt / 16, 1 + salt / 8]
      : [-1.6 - salt / 8, -0.45, 0.4, 1.5 + salt / 4],
    tensorFactor: 0.7 + salt / 8,
    channelFactors: channels((c, head) => 0.3 + ((7 * c + 3 * head + 5 * salt) % 11) / 4),
    channelMeans: channels((c, head) => ((5 * c + head + salt) % 9) / 3 - 1.1),
    channelOrder: channels((c, head) => (step * c + head + salt) % headDim),
  };
  return Object.fromEntries(Object.entries(all).filter(([name]) => values.includes(name as never)));
}
