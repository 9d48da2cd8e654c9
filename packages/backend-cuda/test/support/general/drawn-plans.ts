/**
 * Plans drawn at random: any quantizer, types of parameters, outliers, transforms, head dims and sizes of blocks that the planner
 * accepts.
 */
import {
  createPlan,
  LowbitKvError,
  type Plan,
  type QuantizedTensorScheme,
  type Transform,
} from '@lowbit-kv/core';
import {
  asymmetric,
  bands,
  createDraws,
  hybrid,
  inlineCalibration,
  inlineScheme,
  inlineTables,
  symmetric,
  withTop,
  withTypes,
} from '@lowbit-kv/core/testing';

type Draw = () => number;

function pick<T>(draw: Draw, values: readonly T[]): T {
  return values[(draw() >> 3) % values.length] as T;
}

/** The first `count` plans of a seed that the planner accepts. */
export function drawnPlans(count: number, seed: number): Plan[] {
  const draw = createDraws(seed);
  const plans: Plan[] = [];
  while (plans.length < count) {
    const plan = planOf(draw);
    if (plan !== null) plans.push(plan);
  }
  return plans;
}

function planOf(draw: Draw): Plan | null {
  const heads = pick(draw, [1, 2, 3]);
  const keyHeadDim = pick(draw, [16, 20, 32, 40, 64, 72, 80, 128, 272]);
  const valueHeadDim = pick(draw, [8, 32, 48, 64, 128]);
  const geometry = { layers: 1, queryHeads: heads, kvHeads: heads, keyHeadDim, valueHeadDim };
  const scheme = inlineScheme({
    key: tensorOf(draw, keyHeadDim, heads),
    value: tensorOf(draw, valueHeadDim, heads),
  });
  try {
    const calibration = inlineCalibration(scheme, geometry);
    return createPlan(scheme, geometry, {
      blockTokens: pick(draw, [24, 64, 128]),
      ...(calibration === undefined ? {} : { calibration }),
    });
  } catch (error) {
    // A combination that no plan may have.
    if (LowbitKvError.is(error)) return null;
    throw error;
  }
}

function tensorOf(draw: Draw, headDim: number, heads: number): QuantizedTensorScheme {
  const transforms = Array.from({ length: pick(draw, [0, 0, 1, 1, 2, 3]) }, () =>
    transformOf(draw),
  );
  const tensor = outliersOf(draw, headDim, heads);
  return transforms.length === 0 ? tensor : { ...tensor, transforms };
}

function outliersOf(draw: Draw, headDim: number, heads: number): QuantizedTensorScheme {
  if (draw() % 6 === 0)
    return bands(
      pick(draw, ['midRise', 'uniform'] as const),
      heads > 1 && draw() % 2 === 0 ? 'allHeads' : 'head',
      pick(draw, [40, 64]),
    );
  const tensor = withTypes(quantizedOf(draw, headDim), draw());
  return draw() % 5 === 0 ? withTop(tensor, 1 + ((draw() >> 4) % 5)) : tensor;
}

function quantizedOf(draw: Draw, headDim: number): QuantizedTensorScheme {
  const along = pick(draw, ['tokens', 'channels'] as const);
  const sizes = [8, 10, 16, 20, 24, 32, headDim].filter(
    (size) => size <= headDim && (along === 'tokens' ? size % 8 === 0 : headDim % size === 0),
  );
  const size = pick(draw, sizes);
  const bits = pick(draw, [1, 2, 3, 4, 8] as const);
  const wide = pick(draw, [2, 3, 4, 8] as const);
  switch ((draw() >> 2) % 5) {
    case 0:
      return asymmetric(bits, along, size);
    case 1:
      return symmetric(bits, pick(draw, ['full', 'fullSigned'] as const), along, size);
    case 2:
      return symmetric(wide, 'signmag', along, size);
    case 3: {
      const codes = pick(draw, ['signmag', 'full'] as const);
      const tie = pick(draw, ['symmetric', 'asymmetric'] as const);
      return hybrid(wide, codes, wide - (draw() % 2), tie, along, size);
    }
    default:
      return pick(draw, inlineTables(along, size));
  }
}

function transformOf(draw: Draw): Transform {
  const statisticsTokens = pick(draw, [1, 7, 16, 33]);
  const measured = { scope: 'sequence', statisticsTokens } as const;
  return pick<Transform>(draw, [
    { kind: 'hadamard' },
    { kind: 'hadamard', seed: draw() },
    { kind: 'tensorScale', scope: 'model' },
    { kind: 'channelScale', scope: 'model' },
    { kind: 'channelMean', scope: 'model' },
    { kind: 'channelOrder', scope: 'model' },
    { kind: 'tensorScale', ...measured, largest: pick(draw, [6, 448, 1000]) },
    { kind: 'channelMean', ...measured, minimumOffset: pick(draw, [0, 0.5, 1]) },
    {
      kind: 'channelScale',
      ...measured,
      statistic: 'rootAbsoluteMaximum',
      clamp: [2 ** -6, 2 ** 6],
      minimumSpread: pick(draw, [1, 1.5, 4]),
    },
  ]);
}
