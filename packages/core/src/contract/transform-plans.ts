/**
 * Transforms of keys and values for the plans of `describeBackend`: each alone, and chains whose later statistics are
 * measured on what earlier transforms left.
 */
import type { Geometry } from '../geometry.js';
import type { Transform } from '../scheme.js';
import {
  asymmetric,
  bands,
  hybrid,
  type SchemeParts,
  symmetric,
} from '../testing/inline-schemes.js';

export interface TransformParts extends SchemeParts {
  readonly name: string;
  readonly change?: Partial<Geometry>;
}

function rotation(seed?: number): Transform {
  return seed === undefined ? { kind: 'hadamard' } : { kind: 'hadamard', seed };
}

function mean(statisticsTokens = 24, minimumOffset = 0): Transform {
  const rule = { kind: 'channelMean', scope: 'sequence', statisticsTokens } as const;
  return minimumOffset === 0 ? rule : { ...rule, minimumOffset };
}

function scale(statisticsTokens = 24, minimumSpread = 1): Transform {
  return {
    kind: 'channelScale',
    scope: 'sequence',
    statistic: 'rootAbsoluteMaximum',
    statisticsTokens,
    clamp: [2 ** -6, 2 ** 6],
    minimumSpread,
  };
}

function tensorScale(statisticsTokens = 24, largest = 448): Transform {
  return { kind: 'tensorScale', scope: 'sequence', statisticsTokens, largest };
}

/** Every kind, in both tensors; lives through everything that a cache does. */
export const CHAINED: SchemeParts = {
  key: {
    ...asymmetric(3, 'tokens', 16, { recent: 8, flush: 16 }),
    transforms: [mean(20), scale(20), rotation()],
  },
  value: {
    ...symmetric(4, 'signmag', 'channels', 32, { recent: 8, flush: 4 }),
    transforms: [tensorScale(24, 6), rotation(7), mean(24, 0.25)],
  },
  sinks: 3,
};

export function transformParts(): TransformParts[] {
  const keys = asymmetric(3, 'tokens', 16);
  const values = symmetric(4, 'signmag', 'channels', 32, { recent: 8, flush: 4 });
  return [
    {
      name: 'channel scale below its least spread',
      key: { ...asymmetric(4, 'tokens', 16), transforms: [scale(24, 100)] },
      value: asymmetric(4, 'tokens', 16),
    },
    {
      name: 'channel means and rotations of keys and values',
      key: { ...keys, transforms: [mean(), rotation()] },
      value: { ...values, transforms: [rotation()] },
      sinks: 2,
    },
    {
      name: 'channel means of values',
      key: asymmetric(4, 'channels', 32),
      value: { ...asymmetric(2, 'channels', 32), transforms: [mean()] },
    },
    {
      name: 'channel scales of values, means of one token',
      key: { ...keys, transforms: [mean(1)] },
      value: { ...values, transforms: [scale(40, 1.5)] },
    },
    {
      name: 'signed rotations of keys and values',
      key: { ...keys, transforms: [rotation(20260101)] },
      value: { ...values, transforms: [rotation(2 ** 32 - 1)] },
    },
    {
      name: 'clear channel means of keys and values',
      key: { ...asymmetric(3, 'channels', 32), transforms: [mean(24, 1)] },
      value: { ...asymmetric(4, 'tokens', 16), transforms: [mean(24, 0.5)] },
      sinks: 1,
    },
    {
      name: 'tensor scales of keys and values',
      key: { ...asymmetric(4, 'channels', 32), transforms: [tensorScale()] },
      value: { ...values, transforms: [tensorScale(24, 6)] },
      sinks: 2,
    },
    {
      name: 'tensor scale, mean, signed rotation and channel scale in a row',
      key: {
        ...asymmetric(4, 'channels', 32),
        transforms: [tensorScale(), mean(), rotation(1), scale()],
      },
      value: { ...values, transforms: [mean(), tensorScale()] },
    },
    {
      name: 'rotations, means and scales, twice each',
      key: { ...keys, transforms: [mean(), rotation(), scale(), rotation(3), mean()] },
      value: {
        ...hybrid(3, 'full', 2, 'symmetric', 'tokens', 32),
        transforms: [scale(33), mean(33), scale(33), mean(33)],
      },
      sinks: 4,
      packing: 'after-attention',
    },
    {
      name: 'outlier bands after rotations',
      key: { ...bands('midRise', 'allHeads'), transforms: [mean(7), rotation()] },
      value: { ...bands('uniform', 'head'), transforms: [scale(5), rotation()] },
    },
    {
      name: 'statistics of fewer tokens behind a sliding window',
      key: { ...keys, transforms: [mean(50), scale(50)] },
      value: { ...values, transforms: [mean(50), rotation()] },
      sinks: 2,
      change: {
        queryHeads: 9,
        kvHeads: 3,
        keyHeadDim: 128,
        valueHeadDim: 32,
        slidingWindow: { size: 41, sinks: 2 },
        softCap: 8,
      },
    },
  ];
}
