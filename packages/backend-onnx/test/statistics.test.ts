/**
 * Statistics over keys that a cache takes only with `nonFinite: 'mask'`: of what is finite.
 */
import { exportOnnx } from '@lowbit-kv/backend-onnx';
import { createPlan, encodeF16, f16ToF32, roundToF16, type Transform } from '@lowbit-kv/core';
import * as ort from 'onnxruntime-node';
import { expect, it } from 'vitest';
import { asymmetric, scheme } from './support/schemes.js';
import { channelMean, channelScale, tensorScale, transformed } from './support/transforms.js';

const TOKENS = 6;
const DIM = 32;

/** Keys that are 3; but channel 5 is infinite twice, with both signs, and channel 7 is NaN once. */
function partlyFinite(): Float32Array {
  const values = new Float32Array(TOKENS * DIM).fill(3);
  values[5] = Number.POSITIVE_INFINITY;
  values[DIM + 5] = Number.NEGATIVE_INFINITY;
  values[2 * DIM + 7] = Number.NaN;
  return values;
}

/** Statistics of keys `[tokens, 1, DIM]`. */
async function measured(transform: Transform, values = partlyFinite()): Promise<number[]> {
  const key = transformed(asymmetric(4, 'channels', DIM), transform);
  const plan = createPlan(scheme({ key, value: { bits: 16 } }), {
    layers: 1,
    queryHeads: 1,
    kvHeads: 1,
    keyHeadDim: DIM,
    valueHeadDim: DIM,
  });
  const session = await ort.InferenceSession.create(
    exportOnnx(plan, { layer: 0 }).keyStatistics as Uint8Array,
  );
  try {
    const tokens = new ort.Tensor('float16', encodeF16(values), [values.length / DIM, 1, DIM]);
    const { data } = (await session.run({ tokens })).statistics as ort.Tensor;
    const { buffer, byteOffset } = data as unknown as Uint16Array;
    return Array.from(new Uint16Array(buffer as ArrayBuffer, byteOffset, DIM), f16ToF32);
  } finally {
    await session.release();
  }
}

it('means: what is not finite counts as 0', async () => {
  const means = await measured(channelMean(TOKENS));
  expect([means[4], means[5], means[7]]).toEqual([3, 2, 2.5]);
});

it('means that are not clear are 0', async () => {
  const means = await measured(channelMean(TOKENS, 5));
  expect([means[4], means[5], means[7]]).toEqual([3, 0, 2.5]);
});

it('scales: of what is finite', async () => {
  const reciprocals = await measured(channelScale(TOKENS));
  expect(reciprocals).toEqual(Array(DIM).fill(roundToF16(1 / Math.sqrt(3))));
  expect(await measured(tensorScale(TOKENS, 6))).toEqual(Array(DIM).fill(2));
});

it('scales are 1 where the upper middle channel is near the largest', async () => {
  const spread = (small: number) =>
    Float32Array.from({ length: TOKENS * DIM }, (_, i) => (i % DIM < small ? 4 : 16));
  // 16 of 32 channels have the smaller factor: the middle is one of them.
  expect(new Set(await measured(channelScale(TOKENS, 1.2), spread(16)))).toEqual(
    new Set([0.5, 0.25]),
  );
  expect(new Set(await measured(channelScale(TOKENS, 1.2), spread(15)))).toEqual(new Set([1]));
});

it('a mean is the sum times the f32 reciprocal of the count: here just above a tie', async () => {
  // Divided by 14 the sum would be the tie itself, and go to the even neighbour 1.998046875.
  const values = Float32Array.from({ length: 14 * DIM }, (_, i) =>
    Math.floor(i / DIM) % 2 === 0 ? 1.998046875 : 1.9990234375,
  );
  expect(new Set(await measured(channelMean(14), values))).toEqual(new Set([1.9990234375]));
});
