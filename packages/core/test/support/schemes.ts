/**
 * Schemes for the tests of core, built from settings. They are nobody's scheme: core's tests know no scheme package.
 */
import type {
  GroupScheme,
  QuantizedTensorScheme,
  Quantizer,
  Scheme,
  TensorScheme,
  Transform,
} from '../../src/index.js';

export interface TensorSettings {
  readonly bits?: 1 | 2 | 3 | 4 | 8 | 16;
  readonly along?: 'tokens' | 'channels' | 'vector';
  readonly size?: number;
  readonly codes?: 'asymmetric' | 'signmag' | 'full' | 'fullSigned' | 'hybrid';
  readonly recent?: number;
  readonly flush?: number;
  readonly transforms?: readonly Transform[];
}

/** One tensor: by default 4-bit asymmetric groups of 32 along channels, packed one token at a time. */
export function tensor(settings: TensorSettings = {}): TensorScheme {
  const { bits = 4, along = 'channels', size = 32, codes = 'asymmetric', recent = 0 } = settings;
  if (bits === 16) return { bits };
  const groups: GroupScheme = along === 'vector' ? { along, scope: 'head' } : { along, size };
  const scheme: QuantizedTensorScheme = {
    bits,
    groups,
    quantizer: quantizerOf(codes, bits),
    parameters:
      codes === 'asymmetric' || codes === 'hybrid'
        ? { scale: 'f16', zero: 'f16' }
        : { scale: 'f16' },
    window: { recent, flush: settings.flush ?? (along === 'tokens' ? size : 1) },
  };
  return settings.transforms === undefined
    ? scheme
    : { ...scheme, transforms: settings.transforms };
}

function quantizerOf(codes: NonNullable<TensorSettings['codes']>, bits: number): Quantizer {
  if (codes === 'asymmetric') return { mode: 'asymmetric', codes: 'uniform' };
  if (codes === 'hybrid') {
    return { mode: 'hybrid', codes: 'full', asymmetricBits: bits, norm: 'l1', tie: 'symmetric' };
  }
  return { mode: 'symmetric', codes };
}

export interface SchemeSettings {
  readonly id?: string;
  readonly sinks?: number;
  readonly packing?: Scheme['packing'];
  readonly key?: TensorSettings;
  readonly value?: TensorSettings;
}

export function scheme(settings: SchemeSettings = {}): Scheme {
  const key = tensor(settings.key);
  const value = tensor(settings.value);
  const takesStatistics = [key, value].some(
    (spec) =>
      spec.bits !== 16 &&
      (spec.transforms ?? []).some((transform) => 'statisticsTokens' in transform),
  );
  return {
    specVersion: 1,
    id: settings.id ?? 'test-scheme',
    title: 'Scheme of a test',
    sinks: settings.sinks ?? 0,
    packing: settings.packing ?? 'after-attention',
    key,
    value,
    calibration: { kind: takesStatistics ? 'prefill' : 'none' },
  };
}

/** Keys grouped along tokens, values along channels (the arrangement of KIVI). */
export function tokenKeys(
  settings: {
    readonly bits?: 2 | 3 | 4 | 8;
    readonly size?: number;
    readonly residual?: number;
    readonly sinks?: number;
    readonly packing?: Scheme['packing'];
    readonly codes?: TensorSettings['codes'];
  } = {},
): Scheme {
  const { bits = 4, size = 32, residual = 0, codes = 'asymmetric' } = settings;
  return scheme({
    id: `token-keys-${bits}bit`,
    sinks: settings.sinks ?? 0,
    packing: settings.packing ?? 'after-attention',
    key: { bits, along: 'tokens', size, codes, recent: residual, flush: size },
    value: { bits, along: 'channels', size, codes, recent: residual, flush: 1 },
  });
}

/** Keys grouped along channels, values along tokens (the arrangement of InnerQ). */
export function channelKeys(
  settings: {
    readonly bits?: 2 | 3 | 4 | 8;
    readonly size?: number;
    readonly residual?: number;
    readonly sinks?: number;
    readonly packing?: Scheme['packing'];
    readonly codes?: TensorSettings['codes'];
  } = {},
): Scheme {
  const { bits = 4, size = 32, residual = 0, codes = 'asymmetric' } = settings;
  return scheme({
    id: `channel-keys-${bits}bit`,
    sinks: settings.sinks ?? 0,
    packing: settings.packing ?? 'before-attention',
    key: { bits, along: 'channels', size, codes, recent: residual, flush: 1 },
    value: { bits, along: 'tokens', size, codes, recent: residual, flush: size },
  });
}

/** A channel scale of keys, as transforms spell it. */
export function channelScale(statisticsTokens: number): Transform {
  return {
    kind: 'channelScale',
    scope: 'sequence',
    statistic: 'rootAbsoluteMaximum',
    statisticsTokens,
    clamp: [2 ** -6, 2 ** 7],
    minimumSpread: 1,
  };
}
