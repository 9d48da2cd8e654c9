// Calibration: thresholds and levels by hand, weights, outliers and sinks left out, same bits every time, what is refused.
import { type CalibrationSample, createPlan, parseCalibration } from '@lowbit-kv/core';
import { lcgNormal } from '@lowbit-kv/core/testing';
import { describe, expect, test } from 'vitest';
import { type CalibrateOptions, calibrateKvquant, kvquant, kvquant3 } from '../src/index.js';
import { measuredCalibration, sample, sequence } from './support.js';

const plain: CalibrateOptions = { bits: 2, outliers: 0, outlierShare: 0, sinks: 0 };

async function calibrateOne(samples: readonly CalibrationSample[], options = plain) {
  const [layer] = await calibrateKvquant(sequence(samples), options);
  const { key, value } = layer ?? {};
  if (key === undefined || value === undefined) throw new Error('nothing calibrated');
  return { key, value };
}

describe('thresholds of key channels', () => {
  test('share 0: the middle of minimum and maximum, half their distance', async () => {
    const { key } = await calibrateOne([sample(0, 3, [1, 10, 5, -10, 3, 30])]);
    expect(key.channelMeans).toEqual([[3, 10]]);
    expect(key.channelFactors).toEqual([[2, 20]]);
  });

  test('a share: quantiles between ranks, over all samples', async () => {
    // 0 to 10 in one channel; 2 % of the way on ten steps is 0.2 with a share of 4 %.
    const runs = [sample(0, 6, [0, 7, 3, 9, 1, 5]), sample(0, 5, [10, 2, 8, 4, 6])];
    const { key } = await calibrateOne(runs, { ...plain, outlierShare: 0.04 });
    expect(key.channelMeans?.[0]?.[0]).toBeCloseTo(5, 12);
    expect(key.channelFactors?.[0]?.[0]).toBeCloseTo(4.8, 12);
    const skewed = [sample(0, 5, [0, 1, 2, 3, 100])];
    const [half] = [await calibrateOne(skewed, { ...plain, outlierShare: 0.5 })];
    expect(half.key).toMatchObject({ channelMeans: [[2]], channelFactors: [[1]] });
  });

  test('a constant channel is shifted and not scaled', async () => {
    const { key } = await calibrateOne([sample(0, 2, [7, 1, 7, 3])]);
    expect(key).toMatchObject({ channelMeans: [[7, 2]], channelFactors: [[1, 1]] });
  });

  test('heads apart', async () => {
    const run: CalibrationSample = {
      ...{ layer: 0, tokens: 2, kvHeads: 2 },
      key: Float32Array.of(0, 10, 4, 30),
      value: new Float32Array(4),
    };
    const { key } = await calibrateOne([run]);
    expect(key).toMatchObject({ channelMeans: [[2], [20]], channelFactors: [[2], [10]] });
  });
});

describe('levels', () => {
  test('of keys: normalised, weighed by the squares of their factors', async () => {
    // Channel 0 becomes -1, -0.5, 0.5, 1 with weight 16, channel 1 -1, 0.75, 0.75, 1 with weight 1.
    const { key } = await calibrateOne([sample(0, 4, [-4, -1, -2, 0.75, 2, 0.75, 4, 1])]);
    expect(key).toMatchObject({ channelMeans: [[0, 0]], channelFactors: [[4, 1]] });
    // Five places for four levels: 0.5 and 0.75 are the cheapest to put together.
    expect(key.levels).toEqual([-1, -0.5, Math.fround((16 * 0.5 + 2 * 0.75) / 18), 1]);
  });

  test('of values: 0 to 1 over the range of a token, weighed by its square', async () => {
    // Places 0, 0.25, 0.5, 0.75, 1; the middle three have weights 4^2, 8^2, 4^2.
    const value = [0, 1, 4, 4, 0, 8, 4, 8, -4, -1, 0, 0];
    const { value: measured } = await calibrateOne([sample(0, 3, value)]);
    const levels = measured.levels as readonly number[];
    expect([levels[0], levels.at(-1)]).toEqual([0, 1]);
    // 0.25 or 0.75 joins 0.5; which is a matter of equal costs, that of the mean is not.
    const joined = Math.fround((64 * 0.5 + 16 * 0.75) / 80);
    expect(levels.slice(1, 3)).toEqual([0.25, joined]);
  });

  test('are not for the largest magnitudes, which the cache keeps in f16', async () => {
    const tokens = [
      [-90, 1, 2, 3],
      [1, 3, 70, 2],
    ];
    const options = { ...plain, outliers: 1 };
    const { value } = await calibrateOne([sample(0, 2, tokens.flat())], options);
    expect(value.levels).toEqual([0, 0.5, 1]);
    const without = await calibrateOne([sample(0, 2, tokens.flat())]);
    expect(without.value.levels).not.toContain(0.5);
  });

  test('are not for sinks', async () => {
    const options = { ...plain, sinks: 1 };
    const rest = [0, 1, 1, 2, 0.5, 2];
    const [loud, none] = [
      [500, -800],
      [0, 0],
    ].map((first) => [sample(0, 4, [...first, ...rest])]);
    expect(await calibrateOne(loud as never, options)).toEqual(
      await calibrateOne(none as never, options),
    );
    expect(await calibrateOne(loud as never)).not.toEqual(await calibrateOne(none as never));
  });

  test('of layers without any difference are two, and a plan takes them', async () => {
    for (const fill of [0, 3]) {
      const run = sample(0, 4, new Array(4 * 64).fill(fill));
      const calibration = await measuredCalibration(kvquant3, [run]);
      const [layer] = calibration.layers;
      expect(layer?.key?.levels).toEqual([0, 1]);
      expect(layer?.value?.levels).toEqual([0, 1]);
      const geometry = { layers: 1, queryHeads: 1, kvHeads: 1, keyHeadDim: 64, valueHeadDim: 64 };
      const rotary = { pairs: 'halves' as const };
      expect(createPlan(kvquant3, { ...geometry, rotary }, { calibration }).layers).toHaveLength(1);
    }
  });
});

function drawn(layer: number, seed: number): CalibrationSample {
  const draw = (add: number) =>
    lcgNormal({ seed: seed + add, shape: [40, 2, 64], dtype: 'f32', std: 2, mean: 0.5 });
  return { layer, tokens: 40, kvHeads: 2, key: draw(0), value: draw(100) };
}

test('neither a second run nor the order of layers changes a bit', async () => {
  const samples = [drawn(0, 1), drawn(1, 2), drawn(0, 3), drawn(1, 4)];
  const first = await measuredCalibration(kvquant3, samples);
  expect(await measuredCalibration(kvquant3, samples)).toEqual(first);
  const turned = await measuredCalibration(
    kvquant3,
    [1, 0, 3, 2].map((i) => samples[i] as never),
  );
  expect(turned).toEqual(first);
  expect(first.layers.map(({ key }) => key?.levels?.length)).toEqual([8, 8]);
  expect(first.layers[0]).not.toEqual(first.layers[1]);
});

test('the document survives JSON and belongs to its scheme', async () => {
  const calibration = await measuredCalibration(kvquant3, [drawn(0, 5)]);
  expect(parseCalibration(JSON.parse(JSON.stringify(calibration)))).toEqual(calibration);
  const geometry = {
    ...{ layers: 1, queryHeads: 2, kvHeads: 2, keyHeadDim: 64, valueHeadDim: 64 },
    rotary: { pairs: 'halves' },
  } as const;
  expect(createPlan(kvquant3, geometry, { calibration }).calibration).toEqual(calibration);
  expect(() => createPlan(kvquant({ bits: 4 }), geometry, { calibration })).toThrow(
    expect.objectContaining({ code: 'CALIBRATION_INVALID' }),
  );
  expect(() => createPlan(kvquant3, geometry)).toThrow(
    expect.objectContaining({ code: 'CALIBRATION_MISSING' }),
  );
});

describe('refused samples', () => {
  const good = sample(0, 2, [1, 2, 3, 4]);
  test.each<[string, CalibrationSample[], string]>([
    ['none', [], 'CALIBRATION_INVALID'],
    ['a layer is missing', [{ ...good, layer: 1 }], 'CALIBRATION_INVALID'],
    ['a negative layer', [{ ...good, layer: -1 }], 'CALIBRATION_INVALID'],
    ['a broken shape', [{ ...good, tokens: 3 }], 'CALIBRATION_INVALID'],
    ['no token', [{ ...good, tokens: 0 }], 'CALIBRATION_INVALID'],
    ['nothing but sinks', [{ ...good, tokens: 1 }], 'CALIBRATION_INVALID'],
    ['another head dim', [good, sample(0, 2, [1, 2, 3, 4, 5, 6])], 'CALIBRATION_INVALID'],
    ['other heads', [good, { ...good, tokens: 1, kvHeads: 2 }], 'CALIBRATION_INVALID'],
    ['NaN', [sample(0, 2, [1, Number.NaN, 3, 4])], 'NON_FINITE'],
    ['beyond f16', [sample(0, 2, [1, 2, 3, 4], [1, 65520, 3, 4])], 'NON_FINITE'],
  ])('%s', async (_name, samples, code) => {
    await expect(calibrateKvquant(sequence(samples), { ...plain, sinks: 1 })).rejects.toMatchObject(
      { code },
    );
  });
});
