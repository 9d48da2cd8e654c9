/**
 * Code sets and parameter types for the plans of `describeBackend`: short and wide scales, tables without a scale, over a
 * zero, and from calibration, on f16 values and on what transforms leave.
 */
import type { LevelTable } from '../scheme.js';
import { E2M1_LEVELS, e4m3Levels } from '../testing/float-levels.js';
import { levelTable, offsetLevelTable, withParameters, withTop } from '../testing/inline-codes.js';
import {
  asymmetric,
  channelScaled,
  hybrid,
  type SchemeParts,
  symmetric,
} from '../testing/inline-schemes.js';
import type { TransformParts } from './transform-plans.js';

const E2M1: LevelTable = { levels: E2M1_LEVELS, scaledBy: 'absoluteMaximum' };
const LLOYD_MAX: LevelTable = {
  levels: [-1.5104, -0.4528, 0.4528, 1.5104],
  scaledBy: 'rootMeanSquare',
};
const SHORT_WINDOW = { recent: 8, flush: 4 };

/** A tensor scale in front of e4m3 scales, and an asymmetric table with f32 parameters; lives through everything. */
export const SHORT_SCALES: SchemeParts = {
  key: {
    ...withParameters(levelTable(4, E2M1, 'channels', 16, SHORT_WINDOW), { scale: 'e4m3' }),
    transforms: [
      { kind: 'tensorScale', scope: 'sequence', statisticsTokens: 20, largest: 448 * 6 },
    ],
  },
  value: withParameters(offsetLevelTable(3, [0, 0.1, 0.25, 0.5, 1], 'tokens', 24), {
    scale: 'e4m3',
    zero: 'f32',
  }),
  sinks: 3,
};

/** Outliers beside groups along both axes; lives through everything. */
export const SPARSE: SchemeParts = {
  key: withTop(asymmetric(2, 'tokens', 16, { recent: 8, flush: 16 }), 2),
  value: withTop(hybrid(2, 'full', 2, 'symmetric', 'channels', 32, SHORT_WINDOW), 3),
  sinks: 2,
};

export function codeParts(): TransformParts[] {
  const fp8: LevelTable = { levels: e4m3Levels(), scaledBy: 'none' };
  return [
    {
      name: 'powers of two as scales',
      key: withParameters(levelTable(4, E2M1, 'channels', 32), { scale: 'e8m0' }),
      value: withParameters(symmetric(4, 'signmag', 'tokens', 32), { scale: 'e8m0' }),
    },
    {
      name: 'powers of two as scales of transformed values',
      key: withParameters(channelScaled(symmetric(3, 'full', 'tokens', 16), 24), { scale: 'e8m0' }),
      value: withParameters(levelTable(2, LLOYD_MAX, 'channels', 32), { scale: 'e8m0' }),
    },
    {
      name: 'e4m3 scales of integers',
      key: withParameters(asymmetric(3, 'tokens', 32), { scale: 'e4m3', zero: 'f16' }),
      value: withParameters(channelScaled(symmetric(4, 'full', 'channels', 16), 16), {
        scale: 'e4m3',
      }),
    },
    {
      name: 'f32 parameters of affine groups',
      key: withParameters(channelScaled(asymmetric(4, 'tokens', 32), 24), {
        scale: 'f32',
        zero: 'f32',
      }),
      value: withParameters(asymmetric(2, 'channels', 32), { scale: 'f16', zero: 'f32' }),
    },
    {
      name: 'f32 scales with a sign',
      key: withParameters(symmetric(3, 'fullSigned', 'channels', 16), { scale: 'f32' }),
      value: withParameters(hybrid(2, 'full', 2, 'symmetric', 'tokens', 32), {
        scale: 'f32',
        zero: 'f32',
      }),
    },
    {
      name: 'root mean squares in e4m3 and f32',
      key: withParameters(levelTable(2, LLOYD_MAX, 'tokens', 24), { scale: 'e4m3' }),
      value: withParameters(
        { ...levelTable(2, LLOYD_MAX, 'channels', 32), transforms: [{ kind: 'hadamard' }] },
        { scale: 'f32' },
      ),
    },
    {
      name: 'a table of 253 levels without a scale',
      key: levelTable(8, fp8, 'tokens', 16),
      value: channelScaled(levelTable(8, fp8, 'channels', 64), 24),
    },
    {
      name: 'a table of 253 levels with a scale',
      key: levelTable(8, { ...fp8, scaledBy: 'absoluteMaximum' }, 'channels', 32),
      value: levelTable(2, { levels: [-2, -0.5, 0.5], scaledBy: 'none' }, 'tokens', 16),
    },
    {
      name: 'tables over a zero',
      key: offsetLevelTable(2, [0, 0.15, 0.4, 1], 'channels', 32),
      value: channelScaled(
        withParameters(offsetLevelTable(4, [0, 0.1, 0.3, 0.6, 1, 1.7], 'tokens', 16), {
          scale: 'f32',
          zero: 'f16',
        }),
        24,
      ),
    },
    {
      name: 'calibrated tables',
      key: levelTable(2, { levels: 'calibrated', scaledBy: 'none' }, 'tokens', 16),
      value: offsetLevelTable(2, 'calibrated', 'channels', 32),
    },
    {
      name: 'outliers of tables',
      key: withTop(levelTable(2, LLOYD_MAX, 'tokens', 16), 1),
      value: withTop(levelTable(4, E2M1, 'channels', 16), 5),
    },
    {
      name: 'outliers of transformed values',
      key: withTop(channelScaled(symmetric(3, 'fullSigned', 'tokens', 24), 24), 2),
      value: withTop(
        { ...symmetric(3, 'signmag', 'channels', 32), transforms: [{ kind: 'hadamard' }] },
        1,
      ),
    },
    {
      name: 'outliers only, and over 256 channels',
      key: withTop(offsetLevelTable(2, [0, 0.2, 1], 'channels', 32), 64),
      value: withTop(asymmetric(4, 'tokens', 16), 3),
      change: { kvHeads: 1, valueHeadDim: 272 },
    },
  ];
}
