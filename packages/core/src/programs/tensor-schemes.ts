/**
 * Arbitrary tensor schemes of small groups: every quantizer, level table, codec, outlier rule and transform.
 */
import * as fc from 'fast-check';
import type { GroupScheme, QuantizedTensorScheme, TensorScheme, Transform } from '../scheme.js';
import { withSharedExponent } from '../testing/inline-codec.js';
import { inlineTables, withTop, withTypes } from '../testing/inline-codes.js';
import { asymmetric, bands, hybrid, symmetric } from '../testing/inline-schemes.js';

const window = (size: number) =>
  fc.record({
    recent: fc.oneof(
      fc.constant(0),
      fc.integer({ min: 0, max: 4 }),
      fc.integer({ min: 0, max: 20 }),
    ),
    flush: fc.integer({ min: 1, max: 3 }).map((n) => n * size),
  });

const codes = fc.constantFrom('asymmetric', 'signmag', 'full', 'fullSigned', 'hybrid' as const);

export const F16: TensorScheme = { bits: 16 };

interface Plain {
  readonly bits: number;
  readonly codes: 'asymmetric' | 'signmag' | 'full' | 'fullSigned' | 'hybrid';
  readonly window: { readonly recent: number; readonly flush: number };
}

function grouped({ bits, codes, window }: Plain, groups: GroupScheme): TensorScheme {
  return { ...quantizer(bits as 4, codes), groups, window };
}

function quantizer(bits: 2 | 3 | 4 | 8, codes: Plain['codes']): QuantizedTensorScheme {
  if (codes === 'asymmetric') return asymmetric(bits, 'channels', 8);
  if (codes === 'hybrid') return hybrid(bits, 'full', bits, 'symmetric', 'channels', 8);
  return symmetric(bits, codes, 'channels', 8);
}

const plain = fc.oneof(
  fc
    .record({ bits: fc.constantFrom(2, 3, 4, 8), codes, window: window(8) })
    .map((t) => grouped(t, { along: 'tokens', size: 8 })),
  fc
    .record({ bits: fc.constantFrom(2, 3, 4, 8), codes, window: window(1) })
    .map((t) => grouped(t, { along: 'channels', size: 8 })),
  fc
    .record({ bits: fc.constantFrom(3, 4), codes, window: window(5) })
    .map((t) => grouped(t, { along: 'vector', scope: 'head' })),
  fc
    .record({ along: fc.constantFrom('tokens', 'channels'), window: window(8) })
    .map((t) => withSharedExponent({ along: t.along as 'tokens', size: 8 }, 8, t.window)),
  fc.constant(F16),
);

const tables = fc
  .record({ along: fc.constantFrom('tokens' as const, 'channels' as const), window: window(8) })
  .chain(({ along, window: { recent, flush } }) =>
    fc
      .constantFrom(...inlineTables(along, 8))
      .map((table): TensorScheme => ({ ...table, window: { recent, flush } })),
  );

/** Sometimes with other types of parameters or with outliers. */
function varied(tensors: fc.Arbitrary<TensorScheme>): fc.Arbitrary<TensorScheme> {
  return fc
    .record({
      tensor: tensors,
      types: fc.option(fc.nat(), { nil: null }),
      top: fc.option(fc.integer({ min: 1, max: 4 }), { nil: null, freq: 2 }),
    })
    .map(({ tensor, types, top }) => {
      if (tensor.bits === 16 || tensor.quantizer.mode === 'codec') return tensor;
      const typed = types === null ? tensor : withTypes(tensor, types);
      return top === null ? typed : withTop(typed, top);
    });
}

export const quantized = varied(
  fc.oneof({ arbitrary: plain, weight: 3 }, { arbitrary: tables, weight: 1 }),
);
/** Calibration has levels for one table of a tensor only. */
export const quantizedHeads = varied(plain);

/** More outliers than usual schemes have. */
const BANDS: QuantizedTensorScheme['outliers'] = {
  kind: 'bands',
  shares: { outer: 0.1, middle: 0.8, inner: 0.1 },
  groupShift: true,
  outlierBits: 5,
  storage: { format: 'coo64', reserve: 64 },
};

export const banded = fc
  .record({ window: window(1), scope: fc.constantFrom('head', 'allHeads'), uniform: fc.boolean() })
  .map(
    ({ window, scope, uniform }): TensorScheme => ({
      ...bands(uniform ? 'uniform' : 'midRise', scope as 'head', 64, window),
      outliers: BANDS,
    }),
  );

/** The transforms that programs use; those that measure do so on `statisticsTokens` tokens. */
const TRANSFORMS = {
  scale: (statisticsTokens) => ({
    kind: 'channelScale',
    scope: 'sequence',
    statistic: 'rootAbsoluteMaximum',
    statisticsTokens,
    clamp: [2 ** -6, 2 ** 7],
    minimumSpread: 1,
  }),
  mean: (statisticsTokens) => ({ kind: 'channelMean', scope: 'sequence', statisticsTokens }),
  'clear mean': (statisticsTokens) => ({
    kind: 'channelMean',
    scope: 'sequence',
    statisticsTokens,
    minimumOffset: 0.5,
  }),
  'tensor scale': (statisticsTokens) => ({
    kind: 'tensorScale',
    scope: 'sequence',
    statisticsTokens,
    largest: 100,
  }),
  rotation: () => ({ kind: 'hadamard' }),
  'signed rotation': () => ({ kind: 'hadamard', seed: 5 }),
  'calibrated scale': () => ({ kind: 'channelScale', scope: 'model' }),
  'calibrated mean': () => ({ kind: 'channelMean', scope: 'model' }),
  'calibrated tensor scale': () => ({ kind: 'tensorScale', scope: 'model' }),
  order: () => ({ kind: 'channelOrder', scope: 'model' }),
} satisfies Record<string, (statisticsTokens: number) => Transform>;
export type TransformName = keyof typeof TRANSFORMS;

export const transformNames = fc.uniqueArray(
  fc.constantFrom(...(Object.keys(TRANSFORMS) as TransformName[])),
  { maxLength: 3 },
);

export function transformed(
  tensor: TensorScheme,
  names: readonly TransformName[],
  statisticsTokens: number,
): TensorScheme {
  if (tensor.bits === 16 || names.length === 0) return tensor;
  return { ...tensor, transforms: names.map((name) => TRANSFORMS[name](statisticsTokens)) };
}
