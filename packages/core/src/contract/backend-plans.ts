/**
 * The fixed list of plans that `describeBackend` runs: every quantizer, width and group axis, windows, transforms, and
 * what geometry adds.
 */
import type { Geometry } from '../geometry.js';
import { createPlan, type Plan } from '../plan/plan.js';
import type { QuantizedTensorScheme, SchemeOverride, TensorScheme } from '../scheme.js';
import { sharedExponentCodec, withSharedExponent } from '../testing/inline-codec.js';
import { levelTable } from '../testing/inline-codes.js';
import {
  asymmetric,
  bands,
  channelScaled,
  hybrid,
  inlineCalibration,
  inlineScheme,
  type SchemeParts,
  symmetric,
} from '../testing/inline-schemes.js';
import { calibratedParts } from './calibrated-transform-plans.js';
import { codeParts, SHORT_SCALES, SPARSE } from './code-plans.js';
import { PRE_ROPE, preRopeParts } from './pre-rope-plans.js';
import { CHAINED, type TransformParts, transformParts } from './transform-plans.js';

export interface ContractPlan {
  readonly name: string;
  readonly plan: Plan;
}

const GEOMETRY: Geometry = {
  layers: 1,
  queryHeads: 4,
  kvHeads: 2,
  keyHeadDim: 64,
  valueHeadDim: 64,
};
const BLOCK_TOKENS = 64;
const F16: TensorScheme = { bits: 16 };

/** Sinks, windows and both axes at once; packs before attention. */
const MIXED: SchemeParts = {
  key: symmetric(3, 'signmag', 'channels', 32, { recent: 16, flush: 8 }),
  value: hybrid(2, 'full', 2, 'symmetric', 'tokens', 32, { recent: 24, flush: 32 }),
  sinks: 5,
};
/** Packs after attention. */
const AFFINE: SchemeParts = {
  key: asymmetric(4, 'tokens', 32),
  value: asymmetric(2, 'channels', 32, { recent: 32, flush: 1 }),
  sinks: 4,
  packing: 'after-attention',
};
const BANDED: SchemeParts = {
  key: bands('midRise', 'head', 40, { recent: 8, flush: 4 }),
  value: bands('uniform', 'allHeads', 48, { recent: 0, flush: 16 }),
  sinks: 2,
};
const SCALED: SchemeParts = {
  key: channelScaled(symmetric(3, 'signmag', 'channels', 32, { recent: 8, flush: 4 }), 24),
  value: symmetric(3, 'signmag', 'tokens', 32),
  sinks: 3,
};

/** Groups of a codec along tokens, and vectors of another. */
const CODED: SchemeParts = {
  key: channelScaled(
    withSharedExponent({ along: 'tokens', size: 24 }, 24, { recent: 8, flush: 24 }),
    32,
  ),
  value: withSharedExponent({ along: 'vector', scope: 'head' }, 64, { recent: 16, flush: 4 }),
  sinks: 3,
  codecs: [sharedExponentCodec(24), sharedExponentCodec(64)],
};

function planOf(
  name: string,
  parts: SchemeParts,
  change: Partial<Geometry> = {},
  overrides?: readonly SchemeOverride[],
): ContractPlan {
  const geometry = { ...GEOMETRY, ...change };
  const plain = inlineScheme(parts);
  const scheme = overrides === undefined ? plain : { ...plain, overrides };
  const calibration = inlineCalibration(scheme, geometry);
  const plan = createPlan(scheme, geometry, {
    blockTokens: BLOCK_TOKENS,
    ...(calibration === undefined ? {} : { calibration }),
  });
  return { name, plan };
}

function namedPlan({ name, change, ...parts }: TransformParts): ContractPlan {
  return planOf(name, parts, change);
}

/** Plans whose sequences live through everything that a cache does: the life cycle checks. */
export function lifeCyclePlans(): ContractPlan[] {
  return [
    planOf('affine groups, packed after attention', AFFINE),
    planOf('sinks, windows and hybrid groups', MIXED),
    planOf('outlier bands', BANDED),
    planOf('channel scale of keys', SCALED),
    planOf('chains of transforms', CHAINED),
    namedPlan(PRE_ROPE),
    planOf('groups of a codec', CODED),
    planOf('a head of its own', AFFINE, { queryHeads: 6, kvHeads: 3 }, [
      { layers: [0], heads: [1], key: symmetric(8, 'full', 'channels', 32), value: F16 },
    ]),
    planOf('short scales and tables', SHORT_SCALES),
    planOf('top outliers', SPARSE),
  ];
}

/** Plans that hold pointer data to the bit, over grouped query heads. */
export function pointerPlans(): ContractPlan[] {
  const window = { recent: 8, flush: 1 };
  return [
    planOf('pointer data, affine 2 bit', {
      key: asymmetric(2, 'tokens', 32),
      value: asymmetric(2, 'channels', 32, window),
      sinks: 2,
    }),
    planOf('pointer data, sign and magnitude 3 bit', {
      key: symmetric(3, 'signmag', 'channels', 32, window),
      value: symmetric(3, 'signmag', 'tokens', 32),
    }),
    planOf('pointer data, f16', { key: F16, value: F16 }),
    planOf(
      'pointer data, heads of their own',
      { key: asymmetric(2, 'tokens', 32), value: asymmetric(2, 'channels', 32, window), sinks: 2 },
      { queryHeads: 6, kvHeads: 3 },
      [
        { layers: [0], heads: [2], key: F16 },
        { layers: [0], heads: [0, 2], value: symmetric(3, 'signmag', 'tokens', 32) },
      ],
    ),
  ];
}

export function allPlans(): ContractPlan[] {
  return [
    ...quantizerPlans(),
    ...bandPlans(),
    codecPlan(),
    ...lifeCyclePlans(),
    ...windowPlans(),
    ...[...codeParts(), ...transformParts(), ...calibratedParts(), ...preRopeParts()].map(
      namedPlan,
    ),
    ...geometryPlans(),
    ...headPlans(),
  ];
}

function quantizerPlans(): ContractPlan[] {
  const quantizers: [string, QuantizedTensorScheme][] = [];
  for (const along of ['tokens', 'channels'] as const) {
    for (const bits of [1, 2, 3, 4, 8] as const) {
      quantizers.push([`asymmetric ${bits} bit along ${along}`, asymmetric(bits, along, 32)]);
      for (const codes of ['signmag', 'full', 'fullSigned'] as const) {
        if (codes === 'signmag' && bits === 1) continue;
        const name = `symmetric ${codes} ${bits} bit along ${along}`;
        quantizers.push([name, symmetric(bits, codes, along, 32)]);
      }
    }
    for (const bits of [2, 3, 4] as const) {
      quantizers.push([
        `hybrid full ${bits} bit along ${along}`,
        hybrid(bits, 'full', bits, 'symmetric', along, 32),
      ]);
      quantizers.push([
        `hybrid signmag ${bits} bit along ${along}`,
        hybrid(bits, 'signmag', bits - 1, 'asymmetric', along, 16),
      ]);
    }
  }
  for (const along of ['tokens', 'channels'] as const) {
    const lopsided = { levels: [-0.3, 0, 0.1, 0.25, 1.7], scaledBy: 'rootMeanSquare' } as const;
    const ternary = { levels: [-1, 0, 1], scaledBy: 'absoluteMaximum' } as const;
    quantizers.push([`five levels of 3 bits along ${along}`, levelTable(3, lopsided, along, 32)]);
    quantizers.push([`three levels of 2 bits along ${along}`, levelTable(2, ternary, along, 16)]);
  }
  // One kv head each: shared and several heads are what the other plans are about.
  const single = { queryHeads: 1, kvHeads: 1 };
  return quantizers.map(([name, tensor]) => planOf(name, { key: tensor, value: tensor }, single));
}

function bandPlans(): ContractPlan[] {
  return (['midRise', 'uniform'] as const).flatMap((middle) =>
    (['head', 'allHeads'] as const).map((scope) => {
      const tensor = bands(middle, scope);
      return planOf(`bands ${middle} ${scope}`, { key: tensor, value: tensor });
    }),
  );
}

function codecPlan(): ContractPlan {
  return planOf('a codec along channels, values in f16', {
    key: withSharedExponent({ along: 'channels', size: 16 }, 16),
    value: F16,
    codecs: [sharedExponentCodec(16)],
  });
}

function windowPlans(): ContractPlan[] {
  return [
    planOf('nothing packed', { key: F16, value: F16 }),
    planOf('keys only', { key: asymmetric(4, 'tokens', 32), value: F16 }),
    planOf('values only', { key: F16, value: symmetric(3, 'full', 'channels', 32) }),
    planOf('layers that stay f16', AFFINE, { layers: 3 }, [
      { layers: [0], key: F16 },
      { layers: [-1], key: asymmetric(8, 'tokens', 32), value: F16 },
    ]),
  ];
}

/** Heads of one layer stored in different ways: not neighbours, at different moments, and with values of their own. */
function headPlans(): ContractPlan[] {
  const geometry = { queryHeads: 8, kvHeads: 4 };
  return [
    planOf('heads of their own', MIXED, { ...geometry, layers: 2 }, [
      { layers: [0], heads: [1, 3], key: asymmetric(4, 'tokens', 16) },
      { layers: [0], heads: [3], value: F16 },
      { layers: [-1], heads: [0], key: F16, value: F16 },
    ]),
    planOf(
      'heads of their own behind a sliding window, packed after attention',
      AFFINE,
      { ...geometry, slidingWindow: { size: 37, sinks: 2 } },
      [
        { layers: [0], heads: [2], key: F16 },
        { layers: [0], heads: [0, 1], value: symmetric(8, 'full', 'channels', 32) },
      ],
    ),
    planOf('heads of their own, statistics of the sequence', SCALED, geometry, [
      { layers: [0], heads: [3, 1], value: asymmetric(8, 'channels', 32) },
    ]),
  ];
}

function geometryPlans(): ContractPlan[] {
  const changes: [string, Partial<Geometry>][] = [
    ['as many query heads as kv heads', { queryHeads: 3, kvHeads: 3 }],
    ['all query heads on one kv head', { queryHeads: 8, kvHeads: 1 }],
    ['three query heads to a kv head', { queryHeads: 9, kvHeads: 3 }],
    ['a scale of its own', { scale: 0.0625 }],
    ['a soft cap', { softCap: 2.5 }],
    ['a sliding window', { slidingWindow: { size: 40, sinks: 0 } }],
    [
      'a sliding window, sinks and a soft cap',
      { slidingWindow: { size: 33, sinks: 4 }, softCap: 10 },
    ],
    [
      'layers that differ',
      {
        layers: 3,
        layerOverrides: [
          { layers: [1], slidingWindow: { size: 24, sinks: 1 } },
          { layers: [-1], queryHeads: 6, kvHeads: 3, keyHeadDim: 96, valueHeadDim: 32, softCap: 5 },
        ],
      },
    ],
  ];
  const dims: [number, number][] = [
    [80, 80],
    [96, 96],
    [112, 112],
    [128, 128],
    [256, 256],
    [192, 128],
    [64, 96],
  ];
  const parts: SchemeParts = {
    key: asymmetric(3, 'tokens', 16),
    value: symmetric(3, 'fullSigned', 'channels', 16, { recent: 8, flush: 1 }),
  };
  return [
    ...changes.map(([name, change]) => planOf(name, MIXED, change)),
    planOf(
      'bands of head dims 80 and 112',
      { key: bands('uniform', 'head'), value: bands('midRise', 'allHeads') },
      { keyHeadDim: 80, valueHeadDim: 112 },
    ),
    ...dims.map(([keyHeadDim, valueHeadDim]) =>
      planOf(`head dims ${keyHeadDim} and ${valueHeadDim}`, parts, {
        queryHeads: 3,
        kvHeads: 1,
        keyHeadDim,
        valueHeadDim,
      }),
    ),
  ];
}
