/**
 * Arbitrary plans and programs for the model test: small shapes, so that every boundary is met often.
 */
import * as fc from 'fast-check';
import {
  createPlan,
  type Geometry,
  type Plan,
  type Scheme,
  type SchemeOverride,
  type TensorScheme,
  type Transform,
} from '../../src/index.js';
import {
  inlineCalibration,
  inlineNeed,
  inlineTables,
  sharedExponentCodec,
  withSharedExponent,
  withTop,
  withTypes,
} from '../../src/testing/index.js';
import { channelScale, scheme, tensor } from './schemes.js';

export const HEADS = 2;
export const QUERY_HEADS = 4;
export const KEY_DIM = 8;
export const VALUE_DIM = 16;
export const LAYERS = 2;

export interface Setup {
  readonly plan: Plan;
  readonly rollback: number;
  readonly tokens: number;
  readonly sequences: number;
}

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

const plain = fc.oneof(
  fc
    .record({ bits: fc.constantFrom(2, 3, 4, 8), codes, window: window(8) })
    .map((t) =>
      tensor({ bits: t.bits as 2, along: 'tokens', size: 8, codes: t.codes, ...t.window }),
    ),
  fc
    .record({ bits: fc.constantFrom(2, 3, 4, 8), codes, window: window(1) })
    .map((t) =>
      tensor({ bits: t.bits as 2, along: 'channels', size: 8, codes: t.codes, ...t.window }),
    ),
  fc
    .record({ bits: fc.constantFrom(3, 4), codes, window: window(5) })
    .map((t) => tensor({ bits: t.bits as 4, along: 'vector', codes: t.codes, ...t.window })),
  fc
    .record({ along: fc.constantFrom('tokens', 'channels'), window: window(8) })
    .map((t) => withSharedExponent({ along: t.along as 'tokens', size: 8 }, 8, t.window)),
  fc.constant(tensor({ bits: 16 })),
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

const quantized = varied(
  fc.oneof({ arbitrary: plain, weight: 3 }, { arbitrary: tables, weight: 1 }),
);
/** Calibration has levels for one table of a tensor only. */
const quantizedHeads = varied(plain);

const banded = fc
  .record({ window: window(1), scope: fc.constantFrom('head', 'allHeads'), uniform: fc.boolean() })
  .map(
    ({ window: { recent, flush }, scope, uniform }): TensorScheme => ({
      bits: 4,
      groups: { along: 'vector', scope: scope as 'head' },
      quantizer: uniform
        ? { mode: 'asymmetric', codes: 'uniform' }
        : { mode: 'symmetric', codes: 'midRise' },
      parameters: uniform ? { scale: 'f16', zero: 'f16' } : { scale: 'f16' },
      window: { recent, flush },
      outliers: {
        kind: 'bands',
        shares: { outer: 0.1, middle: 0.8, inner: 0.1 },
        groupShift: true,
        outlierBits: 5,
        storage: { format: 'coo64', reserve: 64 },
      },
    }),
  );

/** The transforms that programs use; those that measure do so on `statisticsTokens` tokens. */
const TRANSFORMS = {
  scale: (statisticsTokens) => channelScale(statisticsTokens),
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
type TransformName = keyof typeof TRANSFORMS;

const transformNames = fc.uniqueArray(
  fc.constantFrom(...(Object.keys(TRANSFORMS) as TransformName[])),
  { maxLength: 3 },
);

function transformed(
  tensor: TensorScheme,
  names: readonly TransformName[],
  statisticsTokens: number,
): TensorScheme {
  if (tensor.bits === 16 || names.length === 0) return tensor;
  return { ...tensor, transforms: names.map((name) => TRANSFORMS[name](statisticsTokens)) };
}

const rotary = fc.option(
  fc.record({
    pairs: fc.constantFrom('halves' as const, 'adjacent' as const),
    dimensions: fc.constantFrom(2, 4, KEY_DIM),
    base: fc.constantFrom(3, 10_000),
  }),
  { nil: null, freq: 3 },
);

const sliding = fc.option(
  fc.record({ size: fc.integer({ min: 3, max: 40 }), sinks: fc.integer({ min: 0, max: 5 }) }),
  { nil: null, freq: 3 },
);

const F16: TensorScheme = { bits: 16 };

/** Such heads cannot be stored apart. */
function sharesHeads(tensor: TensorScheme): boolean {
  if (tensor.bits === 16) return false;
  const { groups, transforms = [] } = tensor;
  return (
    (groups.along === 'vector' && groups.scope === 'allHeads') ||
    transforms.some((step) => step.kind === 'tensorScale' && step.scope === 'sequence')
  );
}

/** `base` is what the other heads have: keys of a layer come at one stage. */
function headOverrideOf(
  choice: {
    readonly layer: number;
    readonly head: number;
    readonly key: TensorScheme | undefined;
    readonly value: TensorScheme;
  },
  base: TensorScheme,
): SchemeOverride {
  const { layer, head, value } = choice;
  const preRope = base.bits !== 16 && base.stage === 'pre-rope';
  const key =
    choice.key === undefined || !preRope
      ? choice.key
      : choice.key.bits === 16
        ? undefined
        : { ...choice.key, stage: base.stage as 'pre-rope' };
  return { layers: [layer], heads: [head], value, ...(key === undefined ? {} : { key }) };
}

/** A plan, options and room for some tokens, sometimes too few. */
export const setups: fc.Arbitrary<Setup> = fc
  .record({
    key: fc.oneof({ arbitrary: quantized, weight: 4 }, { arbitrary: banded, weight: 1 }),
    value: fc.oneof({ arbitrary: quantized, weight: 4 }, { arbitrary: banded, weight: 1 }),
    keyTransforms: transformNames,
    valueTransforms: transformNames,
    statisticsTokens: fc.integer({ min: 1, max: 30 }),
    lastLayerF16: fc.boolean(),
    headOverride: fc.option(
      fc.record({
        layer: fc.constantFrom(0, -1),
        head: fc.nat(HEADS - 1),
        key: fc.option(quantizedHeads, { nil: undefined }),
        value: quantizedHeads,
      }),
      { nil: null, freq: 2 },
    ),
    sinks: fc.integer({ min: 0, max: 5 }),
    packing: fc.constantFrom('before-attention', 'after-attention'),
    rotary,
    slidingWindow: sliding,
    softCap: fc.constantFrom(null, 5),
    rollback: fc.integer({ min: 0, max: 6 }),
    blockTokens: fc.integer({ min: 1, max: 50 }),
    tokens: fc.constantFrom(20, 120, 400, 400),
    sequences: fc.constantFrom(1, 5),
  })
  .map((choice): Setup => {
    const { statisticsTokens, sinks, packing } = choice;
    const rotated = transformed(choice.key, choice.keyTransforms, statisticsTokens);
    const key: TensorScheme =
      choice.rotary === null || rotated.bits === 16 ? rotated : { ...rotated, stage: 'pre-rope' };
    const value = transformed(choice.value, choice.valueTransforms, statisticsTokens);
    const spec: Scheme = {
      ...scheme(),
      sinks,
      packing: packing as Scheme['packing'],
      key,
      value,
      overrides: [
        ...(choice.lastLayerF16 ? [{ layers: [-1], key: F16 }] : []),
        ...(choice.headOverride === null || sharesHeads(key) || sharesHeads(value)
          ? []
          : [
              headOverrideOf(
                choice.headOverride,
                choice.lastLayerF16 && choice.headOverride.layer === -1 ? F16 : key,
              ),
            ]),
      ],
      calibration: inlineNeed([key, value]),
    };
    const geometry: Geometry = {
      layers: LAYERS,
      queryHeads: QUERY_HEADS,
      kvHeads: HEADS,
      keyHeadDim: KEY_DIM,
      valueHeadDim: VALUE_DIM,
      slidingWindow: choice.slidingWindow,
      softCap: choice.softCap,
      rotary: choice.rotary,
    };
    const calibration = inlineCalibration(spec, geometry);
    const plan = createPlan(spec, geometry, {
      codecs: [sharedExponentCodec(8)],
      blockTokens: choice.blockTokens,
      ...(calibration === undefined ? {} : { calibration }),
    });
    const setup = {
      plan,
      rollback: choice.rollback,
      tokens: choice.tokens,
      sequences: choice.sequences,
      // A counterexample prints what was chosen, not the whole plan.
      [fc.toStringMethod]: () => JSON.stringify(choice),
    };
    return setup;
  });

/** Numbers pick among what is alive, modulo its count. */
export type Command =
  | { readonly kind: 'create' }
  | {
      readonly kind: 'step';
      readonly entries: readonly { readonly pick: number; readonly tokens: number }[];
      readonly end: 'commit' | 'abandon' | 'missing' | 'non-finite';
      readonly badLayer: number;
      readonly lessQueries: number;
      readonly seed: number;
    }
  | { readonly kind: 'truncate'; readonly pick: number; readonly back: number }
  | { readonly kind: 'fork' | 'reset' | 'dispose' | 'restore'; readonly pick: number }
  | { readonly kind: 'reorder'; readonly picks: readonly number[] }
  | { readonly kind: 'attend'; readonly picks: readonly number[]; readonly queries: number };

const pick = fc.nat(100);
const stepTokens = fc.oneof(
  { arbitrary: fc.integer({ min: 0, max: 3 }), weight: 2 },
  { arbitrary: fc.integer({ min: 4, max: 45 }), weight: 2 },
);

export const commands: fc.Arbitrary<Command[]> = fc.array(
  fc.oneof(
    {
      arbitrary: fc.record({
        kind: fc.constant('step' as const),
        entries: fc.array(fc.record({ pick, tokens: stepTokens }), { minLength: 1, maxLength: 3 }),
        end: fc.constantFrom(
          ...([
            'commit',
            'commit',
            'commit',
            'commit',
            'abandon',
            'missing',
            'non-finite',
          ] as const),
        ),
        badLayer: fc.nat(LAYERS - 1),
        lessQueries: fc.nat(3),
        seed: fc.nat(2 ** 31),
      }),
      weight: 8,
    },
    { arbitrary: fc.record({ kind: fc.constant('create' as const) }), weight: 1 },
    {
      arbitrary: fc.record({
        kind: fc.constant('truncate' as const),
        pick,
        back: fc.oneof(fc.nat(6), fc.nat(30)),
      }),
      weight: 3,
    },
    {
      arbitrary: fc.record({
        kind: fc.constantFrom(...(['fork', 'fork', 'reset', 'dispose', 'restore'] as const)),
        pick,
      }),
      weight: 2,
    },
    {
      arbitrary: fc.record({
        kind: fc.constant('reorder' as const),
        picks: fc.array(pick, { minLength: 1, maxLength: 4 }),
      }),
      weight: 1,
    },
    {
      arbitrary: fc.record({
        kind: fc.constant('attend' as const),
        picks: fc.array(pick, { minLength: 1, maxLength: 3 }),
        queries: fc.integer({ min: 1, max: 12 }),
      }),
      weight: 2,
    },
  ),
  { minLength: 1, maxLength: 30 },
);
