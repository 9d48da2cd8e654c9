/**
 * Arbitrary plans and caches for the programs: small shapes, so that every boundary is met often.
 */
import * as fc from 'fast-check';
import type { Geometry } from '../geometry.js';
import { createPlan, type Plan } from '../plan/plan.js';
import type { Scheme, SchemeOverride, TensorScheme } from '../scheme.js';
import { sharedExponentCodec } from '../testing/inline-codec.js';
import { inlineCalibration, inlineNeed } from '../testing/inline-schemes.js';
import {
  banded,
  F16,
  quantized,
  quantizedHeads,
  transformed,
  transformNames,
} from './tensor-schemes.js';

export const HEADS = 2;
export const QUERY_HEADS = 4;
export const KEY_DIM = 8;
export const VALUE_DIM = 16;
export const LAYERS = 2;

/** A plan and a cache for it. */
export interface Setup {
  readonly plan: Plan;
  readonly rollback: number;
  /** Capacity. */
  readonly tokens: number;
  readonly sequences: number;
  /** What it was made from: plain JSON, for `setupOf` in another process. */
  readonly choice: Choice;
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

/** Of numbers in general: a setup of somebody else may have others. */
const oneOf = (...numbers: readonly number[]) => fc.constantFrom(...numbers);

const choices = fc.record({
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
  tokens: oneOf(20, 120, 400, 400),
  sequences: oneOf(1, 5),
});

export type Choice = typeof choices extends fc.Arbitrary<infer Value> ? Value : never;

/** A plan, options and room for some tokens, sometimes too few. */
export const setups: fc.Arbitrary<Setup> = choices.map(setupOf);

export function setupOf(choice: Choice): Setup {
  const { statisticsTokens, sinks, packing } = choice;
  const keys = transformed(choice.key, choice.keyTransforms, statisticsTokens);
  const key: TensorScheme =
    choice.rotary === null || keys.bits === 16 ? keys : { ...keys, stage: 'pre-rope' };
  const value = transformed(choice.value, choice.valueTransforms, statisticsTokens);
  const spec: Scheme = {
    specVersion: 1,
    id: 'drawn',
    title: 'Drawn scheme',
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
    choice,
    // A counterexample prints what was chosen, not the whole plan.
    [fc.toStringMethod]: () => JSON.stringify(choice),
  };
  return setup;
}
