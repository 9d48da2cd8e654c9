/**
 * Scheme objects built inline from settings, one builder per quantizer and outlier rule: nobody's scheme, so that backends
 * are tested without knowing any.
 */
import type { GroupCodec } from '../codec.js';
import { schemeFingerprint } from '../plan/plan.js';
import type {
  Calibration,
  LevelTable,
  QuantizedTensorScheme,
  Scheme,
  TensorScheme,
} from '../scheme.js';

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

export function levelTable(
  bits: 2 | 3 | 4 | 8,
  codes: LevelTable,
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
  const usesBands = [key, value].some((t) => t.bits !== 16 && t.outliers !== undefined);
  const usesStatistics = [key, value].some(
    (t) => t.bits !== 16 && t.transforms?.some((step) => 'statisticsTokens' in step),
  );
  return {
    specVersion: 1,
    id: 'inline',
    title: 'Inline scheme',
    sinks,
    packing: packing ?? 'before-attention',
    key,
    value,
    calibration: usesBands
      ? { kind: 'offline', values: ['thresholds'] }
      : { kind: usesStatistics ? 'prefill' : 'none' },
    ...(codecs === undefined ? {} : { codecs }),
  };
}

/** f16 thresholds, different in every layer and tensor. */
export function inlineCalibration(target: Scheme, layers: number): Calibration | undefined {
  if (target.calibration.kind !== 'offline') return undefined;
  const thresholds = (layer: number) => ({
    thresholds: {
      outerLow: -1.75 - layer / 4,
      outerHigh: 1.5 + layer / 4,
      innerLow: -0.0625,
      innerHigh: 0.125,
    },
  });
  return {
    specVersion: 1,
    scheme: schemeFingerprint(target),
    provenance: { source: 'constants of a test' },
    layers: Array.from({ length: layers }, (_, layer) => ({
      key: thresholds(layer),
      value: thresholds(layer + 1),
    })),
  };
}
