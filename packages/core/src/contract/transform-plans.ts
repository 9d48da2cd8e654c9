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

const HADAMARD: Transform = { kind: 'hadamard' };

function mean(statisticsTokens = 24): Transform {
  return { kind: 'channelMean', scope: 'sequence', statisticsTokens };
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

/** Every kind, in both tensors; lives through everything that a cache does. */
export const CHAINED: SchemeParts = {
  key: {
    ...asymmetric(3, 'tokens', 16, { recent: 8, flush: 16 }),
    transforms: [mean(20), scale(20), HADAMARD],
  },
  value: {
    ...symmetric(4, 'signmag', 'channels', 32, { recent: 8, flush: 4 }),
    transforms: [scale(24), HADAMARD, mean(24)],
  },
  sinks: 3,
};

export function transformParts(): TransformParts[] {
  const keys = asymmetric(3, 'tokens', 16);
  const values = symmetric(4, 'signmag', 'channels', 32, { recent: 8, flush: 4 });
  return [
    {
      name: 'channel means and rotations of keys and values',
      key: { ...keys, transforms: [mean(), HADAMARD] },
      value: { ...values, transforms: [HADAMARD] },
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
      name: 'rotations, means and scales, twice each',
      key: { ...keys, transforms: [mean(), HADAMARD, scale(), HADAMARD, mean()] },
      value: {
        ...hybrid(3, 'full', 2, 'symmetric', 'tokens', 32),
        transforms: [scale(33), mean(33), scale(33), mean(33)],
      },
      sinks: 4,
      packing: 'after-attention',
    },
    {
      name: 'outlier bands of rotated values',
      key: { ...bands('midRise', 'allHeads'), transforms: [mean(7), HADAMARD] },
      value: { ...bands('uniform', 'head'), transforms: [scale(5), HADAMARD] },
    },
    {
      name: 'statistics of fewer tokens behind a sliding window',
      key: { ...keys, transforms: [mean(50), scale(50)] },
      value: { ...values, transforms: [mean(50), HADAMARD] },
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
