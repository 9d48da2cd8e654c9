/**
 * What the golden files hold: one packed page per code set, axis and width, made from generated numbers.
 */
import {
  type Calibration,
  createCache,
  createPlan,
  f16Tensor,
  type Plan,
  referenceBackend,
  type Scheme,
  schemeFingerprint,
} from '../src/index.js';
import { lcgNormal } from '../src/testing/index.js';
import {
  alongChannels,
  alongTokens,
  type GoldenCase,
  type Quantizer,
  type Recipe,
  symmetric,
  type Thresholds,
  tensorOf,
  UNIFORM,
  wholeVector,
} from './golden-builders.js';
import { CODE_CASES } from './golden-code-cases.js';

/** 80 channels: a whole chunk of 64 and a short one of 16. 8 slots, 5 used. */
function bands(
  middle: 'midRise' | 'uniform',
  scope: 'head' | 'allHeads',
  thresholds: Thresholds,
  recipe: Recipe,
): GoldenCase {
  const quantizer: Quantizer =
    middle === 'midRise' ? { mode: 'symmetric', codes: 'midRise' } : UNIFORM;
  return {
    name: `bands-${middle}-${scope}`,
    heads: 2,
    headDim: 80,
    blockTokens: 8,
    packedTokens: 5,
    validTokens: 5,
    tensor: {
      ...tensorOf(4, { along: 'vector', scope }, quantizer),
      outliers: {
        kind: 'bands',
        shares: { outer: 0.04, middle: 0.9, inner: 0.06 },
        groupShift: true,
        outlierBits: 5,
        storage: { format: 'coo64', reserve: 40 },
      },
    },
    thresholds,
    recipe,
  };
}

const AROUND_ZERO: Thresholds = {
  outerLow: -1.5,
  outerHigh: 1.625,
  innerLow: -0.125,
  innerHigh: 0.1875,
};
/** The inner band need not hold zero. */
const BESIDE_ZERO: Thresholds = {
  outerLow: -0.75,
  outerHigh: 1.25,
  innerLow: 0.0625,
  innerHigh: 0.3125,
};

const OUTLIER_CHANNEL = { channelOps: [{ channel: 3, mul: 12, add: 0 }] };

export const GOLDEN_CASES: readonly GoldenCase[] = [
  ...([1, 2, 3, 4, 8] as const).flatMap((bits) => [
    alongTokens('asymmetric', bits, UNIFORM, { seed: 100 + bits }),
    alongChannels('asymmetric', bits, UNIFORM, { seed: 110 + bits }),
  ]),
  ...([2, 3, 4, 8] as const).flatMap((bits) => [
    alongTokens('signmag', bits, symmetric('signmag'), { seed: 200 + bits }),
    alongChannels('signmag', bits, symmetric('signmag'), { seed: 210 + bits }),
  ]),
  ...([1, 2, 3, 4] as const).flatMap((bits) => [
    alongTokens('full', bits, symmetric('full'), { seed: 220 + bits }),
    alongChannels('full', bits, symmetric('full'), { seed: 230 + bits }),
    alongTokens('fullsigned', bits, symmetric('fullSigned'), { seed: 240 + bits }),
    alongChannels('fullsigned', bits, symmetric('fullSigned'), { seed: 250 + bits }),
  ]),
  alongTokens(
    'hybrid-full',
    2,
    { mode: 'hybrid', codes: 'full', asymmetricBits: 2, norm: 'l1', tie: 'symmetric' },
    { seed: 301 },
  ),
  alongChannels(
    'hybrid-full',
    3,
    { mode: 'hybrid', codes: 'full', asymmetricBits: 3, norm: 'l1', tie: 'symmetric' },
    { seed: 302, mean: 0.75 },
  ),
  alongTokens(
    'hybrid-signmag',
    2,
    { mode: 'hybrid', codes: 'signmag', asymmetricBits: 1, norm: 'l1', tie: 'asymmetric' },
    { seed: 303, mean: 1.25, std: 0.5 },
  ),
  wholeVector('asymmetric', 4, UNIFORM, { seed: 401 }),
  wholeVector('signmag', 3, symmetric('signmag'), { seed: 402 }),
  { ...alongTokens('constant', 4, UNIFORM, { seed: 501, std: 0, mean: 1.5 }) },
  { ...alongTokens('saturated', 1, UNIFORM, { seed: 502, std: 12000 }) },
  { ...alongChannels('smallest-scale', 4, UNIFORM, { seed: 503, std: 2 ** -16 }) },
  bands('midRise', 'head', AROUND_ZERO, { seed: 601, ...OUTLIER_CHANNEL }),
  bands('midRise', 'allHeads', BESIDE_ZERO, { seed: 602, std: 0.75 }),
  bands('uniform', 'head', BESIDE_ZERO, { seed: 603, std: 0.75 }),
  bands('uniform', 'allHeads', AROUND_ZERO, { seed: 604, ...OUTLIER_CHANNEL }),
  ...CODE_CASES,
];

/** A scheme whose keys are the tensor of a case and whose values stay f16. */
export function goldenPlan(golden: GoldenCase): Plan {
  const scheme: Scheme = {
    specVersion: 1,
    id: `golden-${golden.name.toLowerCase()}`,
    title: golden.name,
    sinks: 0,
    packing: 'before-attention',
    key: golden.tensor,
    value: { bits: 16 },
    calibration:
      golden.thresholds === null ? { kind: 'none' } : { kind: 'offline', values: ['thresholds'] },
  };
  const calibration: Calibration | undefined =
    golden.thresholds === null
      ? undefined
      : {
          specVersion: 1,
          scheme: schemeFingerprint(scheme),
          provenance: { source: 'golden files' },
          layers: [{ key: { thresholds: golden.thresholds } }],
        };
  const geometry = {
    layers: 1,
    queryHeads: golden.heads,
    kvHeads: golden.heads,
    keyHeadDim: golden.headDim,
    valueHeadDim: 8,
  };
  return createPlan(scheme, geometry, {
    blockTokens: golden.blockTokens,
    ...(calibration === undefined ? {} : { calibration }),
  });
}

export interface GoldenPage {
  /** The canonical page of all heads. */
  readonly page: Uint8Array;
  /** f32 `[validTokens, heads, headDim]`. */
  readonly decoded: Float32Array;
}

/** Packs a case on the reference backend and reads it back. */
export async function packGolden(golden: GoldenCase): Promise<GoldenPage> {
  const { heads, headDim, packedTokens, validTokens } = golden;
  const cache = await createCache(goldenPlan(golden), referenceBackend(), {
    capacity: { tokens: packedTokens },
  });
  const sequence = cache.createSequence();
  const shape = [packedTokens, heads, headDim];
  const key = f16Tensor(lcgNormal({ ...golden.recipe, shape, dtype: 'f16' }), shape);
  const value = f16Tensor(new Uint16Array(packedTokens * heads * 8), [packedTokens, heads, 8]);
  await cache.append([{ sequence, tokens: packedTokens }], [{ key, value }]);
  cache.truncate(sequence, validTokens);
  const blocks = await cache.exportBlocks(sequence, 0, 'key');
  const block = blocks[0];
  if (blocks.length !== 1 || block === undefined || block.validTokens !== validTokens)
    throw new Error(`${golden.name} does not fill exactly one block`);
  const { key: decoded } = await cache.materialize(sequence, 0);
  cache.dispose();
  return { page: block.bytes, decoded: decoded.data as Float32Array };
}
