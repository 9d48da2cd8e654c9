/**
 * Golden cases of parameter types, level tables and top outliers.
 */
import type { LevelTable, QuantizedTensorScheme } from '../src/index.js';
import { E2M1_LEVELS, e4m3Levels } from '../src/testing/index.js';
import {
  alongChannels,
  alongTokens,
  type GoldenCase,
  type Quantizer,
  symmetric,
  UNIFORM,
  wholeVector,
} from './golden-builders.js';

const HYBRID: Quantizer = {
  mode: 'hybrid',
  codes: 'full',
  asymmetricBits: 2,
  norm: 'l1',
  tie: 'symmetric',
};
const OFFSET: Quantizer = {
  mode: 'asymmetric',
  codes: { levels: [0, 0.1, 0.25, 0.5, 1], scaledBy: 'absoluteMaximum' },
};
const OUTLIER_CHANNEL = { channelOps: [{ channel: 3, mul: 12, add: 0 }] };

function table(levels: readonly number[], scaledBy: LevelTable['scaledBy']): Quantizer {
  return { mode: 'symmetric', codes: { levels, scaledBy } };
}

const LLOYD_MAX = table([-1.5104, -0.4528, 0.4528, 1.5104], 'rootMeanSquare');
const E2M1 = table(E2M1_LEVELS, 'absoluteMaximum');
const FP8 = table(e4m3Levels(), 'none');

function stored(golden: GoldenCase, parameters: QuantizedTensorScheme['parameters']): GoldenCase {
  return { ...golden, tensor: { ...golden.tensor, parameters } };
}

function sparse(golden: GoldenCase, count: number): GoldenCase {
  const outliers = { kind: 'top', count, storage: { format: 'list' } } as const;
  return { ...golden, tensor: { ...golden.tensor, outliers } };
}

export const CODE_CASES: readonly GoldenCase[] = [
  stored(alongChannels('e2m1-e4m3', 4, E2M1, { seed: 701, std: 40 }), { scale: 'e4m3' }),
  stored(alongChannels('e2m1-e8m0', 4, E2M1, { seed: 702 }), { scale: 'e8m0' }),
  stored(alongTokens('full-e8m0', 3, symmetric('full'), { seed: 703, std: 2 ** -9 }), {
    scale: 'e8m0',
  }),
  stored(alongTokens('asymmetric-f32', 4, UNIFORM, { seed: 704, mean: 3 }), {
    scale: 'f32',
    zero: 'f32',
  }),
  stored(alongChannels('asymmetric-e4m3', 3, UNIFORM, { seed: 705, std: 2 ** -8 }), {
    scale: 'e4m3',
    zero: 'f32',
  }),
  stored(alongChannels('fullsigned-f32', 3, symmetric('fullSigned'), { seed: 706 }), {
    scale: 'f32',
  }),
  stored(alongTokens('hybrid-f32', 2, HYBRID, { seed: 707, mean: 0.75 }), {
    scale: 'f32',
    zero: 'f16',
  }),
  stored(alongTokens('lloyd-max-e4m3', 2, LLOYD_MAX, { seed: 708 }), { scale: 'e4m3' }),
  stored(alongTokens('e4m3-unscaled', 8, FP8, { seed: 709, std: 150 }), {}),
  stored(alongChannels('e4m3-unscaled', 8, FP8, { seed: 710 }), {}),
  alongChannels('offset-table', 3, OFFSET, { seed: 711, mean: -1 }),
  sparse(alongTokens('top-asymmetric', 2, UNIFORM, { seed: 712, ...OUTLIER_CHANNEL }), 2),
  sparse(alongChannels('top-signmag', 3, symmetric('signmag'), { seed: 713 }), 1),
  sparse({ ...wholeVector('top-lloyd-max', 2, LLOYD_MAX, { seed: 714 }), headDim: 264 }, 3),
  sparse(alongChannels('top-hybrid', 2, HYBRID, { seed: 715, ...OUTLIER_CHANNEL }), 5),
];
