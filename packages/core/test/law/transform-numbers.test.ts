// The numbers that a calibration holds for transforms, as every backend puts them into its tables.
import { expect, it } from 'vitest';
import {
  calibratedNumbers,
  createPlan,
  isCalibrated,
  isMeasured,
  type TensorPlan,
  type Transform,
  transformsOf,
} from '../../src/index.js';
import { asymmetric, inlineCalibration, inlineScheme } from '../../src/testing/index.js';

const HEADS = 2;
const DIM = 32;
const measured: Transform = {
  kind: 'channelMean',
  scope: 'sequence',
  statisticsTokens: 16,
};
const transforms: readonly Transform[] = [
  { kind: 'tensorScale', scope: 'model' },
  { kind: 'channelScale', scope: 'model' },
  { kind: 'channelMean', scope: 'model' },
  { kind: 'channelOrder', scope: 'model' },
  { kind: 'hadamard', seed: 3 },
];

function planOf(own: readonly Transform[]): TensorPlan {
  const scheme = inlineScheme({
    key: { ...asymmetric(4, 'tokens', 16), transforms: own },
    value: { bits: 16 },
  });
  const shape = { layers: 1, queryHeads: 2, kvHeads: HEADS, keyHeadDim: DIM, valueHeadDim: DIM };
  const calibration = inlineCalibration(scheme, shape);
  return createPlan(scheme, shape, calibration === undefined ? {} : { calibration }).layers[0]!.key;
}

it('tells where the numbers of a transform come from', () => {
  expect(transformsOf(planOf(transforms))).toEqual(transforms);
  expect(transformsOf(planOf([]))).toEqual([]);
  expect(transformsOf({ scheme: { bits: 16 } })).toEqual([]);
  expect([...transforms, measured].map(isCalibrated)).toEqual([
    true,
    true,
    true,
    true,
    false,
    false,
  ]);
  expect([...transforms, measured].map(isMeasured)).toEqual([
    false,
    false,
    false,
    false,
    false,
    true,
  ]);
});

it('gives them by head and channel, in f32, reciprocals for packing', () => {
  const plan = planOf(transforms);
  const { tensorFactor, channelFactors, channelMeans, channelOrder } = plan.calibration!;
  const [tensor, factors, means, order] = transforms
    .filter(isCalibrated)
    .map((transform) => calibratedNumbers(transform, plan));
  const every = new Float32Array(HEADS * DIM);
  expect(tensor).toEqual({
    packing: every.map(() => 1 / Math.fround(tensorFactor!)),
    attention: every.fill(tensorFactor!),
  });
  const expected = Float32Array.from(channelFactors!.flat());
  expect(factors).toEqual({
    packing: Float32Array.from(expected, (factor) => 1 / factor),
    attention: expected,
  });
  expect(new Set(expected).size).toBeGreaterThan(5);
  expect(means!.packing).toEqual(Float32Array.from(channelMeans!.flat()));
  expect(order!.packing).toEqual(Uint32Array.from(channelOrder!.flat()));
  // The very array: tables hold it once.
  for (const same of [means!, order!]) expect(same.attention).toBe(same.packing);
});
