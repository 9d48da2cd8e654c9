// Calibration: ranks by hand, values made by numpy, averaging over runs, degenerate and refused samples.
import { type CalibrationSample, createPlan, parseCalibration } from '@lowbit-kv/core';
import { lcgNormal } from '@lowbit-kv/core/testing';
import { describe, expect, test } from 'vitest';
import { calibrateThresholds, oaken, oakenSm } from '../src/index.js';
import { fixedCalibration, measuredCalibration, sequence } from './support.js';

const SHARES = { outer: 0.04, middle: 0.9, inner: 0.06 };

function sample(layer: number, key: Float32Array, value = key): CalibrationSample {
  return { layer, tokens: key.length, kvHeads: 1, key, value };
}

/** Numbers 0 to count - 1, out of order. */
function shuffled(count: number): Float32Array {
  return Float32Array.from({ length: count }, (_, i) => (i * 37) % count);
}

describe('ranks', () => {
  test('on a rank: 101 numbers', async () => {
    const [layer] = await calibrateThresholds(sequence([sample(0, shuffled(101))]), SHARES);
    // (n - 1) q is whole: 2, 98, 47, 53.
    expect(layer?.key?.thresholds).toEqual({
      outerLow: 2,
      outerHigh: 98,
      innerLow: 47,
      innerHigh: 53,
    });
  });

  test('between ranks: outward, 60 numbers', async () => {
    const [layer] = await calibrateThresholds(sequence([sample(0, shuffled(60))]), SHARES);
    // 59 x 0.02 = 1.18, 57.82, 27.73, 31.27: lower edges down, upper edges up.
    expect(layer?.value?.thresholds).toEqual({
      outerLow: 1,
      outerHigh: 58,
      innerLow: 27,
      innerHigh: 32,
    });
  });

  test('fractions are the decimals of the shares: 0.46 of 251 numbers is rank 115', async () => {
    // 1 - (0.08 + 0.84) / 2 in doubles is a little less than 0.54.
    const shares = { outer: 0.08, middle: 0.84, inner: 0.08 };
    const [layer] = await calibrateThresholds(sequence([sample(0, shuffled(251))]), shares);
    expect(layer?.key?.thresholds).toEqual({
      outerLow: 10,
      outerHigh: 240,
      innerLow: 115,
      innerHigh: 135,
    });
  });
});

test('two runs of keys and values: numpy quantiles, f16 each, averaged, f16 again', async () => {
  const run = (tokens: number, keySeed: number, valueSeed: number): CalibrationSample => {
    const draw = (seed: number) =>
      lcgNormal({ seed, shape: [tokens, 2, 4], dtype: 'f32', std: 3.7, mean: 0.4 });
    return { layer: 0, tokens, kvHeads: 2, key: draw(keySeed), value: draw(valueSeed) };
  };
  const [layer] = await calibrateThresholds(sequence([run(500, 11, 13), run(700, 12, 14)]), SHARES);
  // numpy: np.quantile(x, q, method='higher' or 'lower'), np.float16, np.mean, np.float16.
  expect(layer).toEqual({
    key: {
      thresholds: {
        outerLow: -7.39453125,
        outerHigh: 7.85546875,
        innerLow: 0.1556396484375,
        innerHigh: 0.71923828125,
      },
    },
    value: {
      thresholds: {
        outerLow: -7.21484375,
        outerHigh: 7.91015625,
        innerLow: 0.1444091796875,
        innerHigh: 0.7275390625,
      },
    },
  });
});

test('each run is rounded before the average', async () => {
  // 2049 rounds to 2048, and the mean 2049 again; the mean of the plain numbers, 2049.5, would round to 2050.
  const runs = [2049, 2050].map((x) => sample(0, Float32Array.of(x, x, x)));
  const [layer] = await calibrateThresholds(sequence(runs), SHARES);
  expect(layer?.key?.thresholds).toEqual({
    outerLow: 2048,
    outerHigh: 2048,
    innerLow: 2048,
    innerHigh: 2048,
  });
});

test('the average is rounded once, not by way of f32', async () => {
  const step = 2 ** -10;
  const mean = async (...runs: number[]) => {
    const samples = runs.map((x) => sample(0, Float32Array.of(x)));
    const [layer] = await calibrateThresholds(sequence(samples), SHARES);
    return layer?.key?.thresholds?.outerHigh;
  };
  // A tie goes to even.
  expect(await mean(1, 1 + step)).toBe(1);
  // 2 + step + 2^-24 lies above the tie 2 + step; the nearest f32 is the tie itself.
  expect(await mean(4, 4 + 4 * step, 2 ** -22, 0)).toBe(2 + 2 * step);
});

test('layers may come in any order', async () => {
  const three = [2, 0, 1].map((layer) => sample(layer, Float32Array.of(layer, layer, layer)));
  const layers = await calibrateThresholds(sequence(three), SHARES);
  expect(layers.map(({ key }) => key?.thresholds?.innerLow)).toEqual([0, 1, 2]);
});

describe('degenerate layers', () => {
  test('all values equal: four equal edges, which a plan accepts', async () => {
    const calibration = await measuredCalibration(oakenSm, [
      sample(0, new Float32Array(64).fill(3)),
    ]);
    expect(calibration.layers[0]?.key?.thresholds).toEqual({
      outerLow: 3,
      outerHigh: 3,
      innerLow: 3,
      innerHigh: 3,
    });
    const geometry = { layers: 1, queryHeads: 1, kvHeads: 1, keyHeadDim: 64, valueHeadDim: 64 };
    expect(createPlan(oakenSm, geometry, { calibration }).calibration).toEqual(calibration);
  });

  test('no middle or no inner share', async () => {
    const numbers = sample(0, shuffled(101));
    const [noInner] = await calibrateThresholds(sequence([numbers]), {
      outer: 0.1,
      middle: 0.9,
      inner: 0,
    });
    expect(noInner?.key?.thresholds).toEqual({
      outerLow: 5,
      outerHigh: 95,
      innerLow: 50,
      innerHigh: 50,
    });
    const [noMiddle] = await calibrateThresholds(sequence([numbers]), {
      outer: 0.5,
      middle: 0,
      inner: 0.5,
    });
    expect(noMiddle?.key?.thresholds).toEqual({
      outerLow: 25,
      outerHigh: 75,
      innerLow: 25,
      innerHigh: 75,
    });
  });
});

test('the document survives JSON and belongs to its scheme', async () => {
  const calibration = await measuredCalibration(oakenSm, [sample(0, shuffled(101))]);
  expect(parseCalibration(JSON.parse(JSON.stringify(calibration)))).toEqual(calibration);
  const geometry = { layers: 1, queryHeads: 1, kvHeads: 1, keyHeadDim: 64, valueHeadDim: 64 };
  expect(() => createPlan(oaken({ middle: 'mm' }), geometry, { calibration })).toThrow(
    expect.objectContaining({ code: 'CALIBRATION_INVALID' }),
  );
  expect(() => createPlan(oakenSm, geometry)).toThrow(
    expect.objectContaining({ code: 'CALIBRATION_MISSING' }),
  );
  const swapped = fixedCalibration(oakenSm, {
    outerLow: 2,
    outerHigh: -2,
    innerLow: 0,
    innerHigh: 0,
  });
  expect(() => createPlan(oakenSm, geometry, { calibration: swapped })).toThrow(/out of order/);
});

describe('refused samples', () => {
  const numbers = Float32Array.of(1, 2, 3);
  test.each<[string, CalibrationSample[], string]>([
    ['none', [], 'CALIBRATION_INVALID'],
    ['a layer is missing', [sample(1, numbers)], 'CALIBRATION_INVALID'],
    ['a negative layer', [sample(-1, numbers)], 'CALIBRATION_INVALID'],
    ['a broken shape', [{ ...sample(0, numbers), tokens: 2 }], 'CALIBRATION_INVALID'],
    ['no token', [{ ...sample(0, numbers), tokens: 0 }], 'CALIBRATION_INVALID'],
    ['NaN', [sample(0, Float32Array.of(1, Number.NaN, 3))], 'NON_FINITE'],
    ['infinity', [sample(0, Float32Array.of(1, Number.NEGATIVE_INFINITY))], 'NON_FINITE'],
    ['beyond f16', [sample(0, Float32Array.of(1, 65520))], 'NON_FINITE'],
  ])('%s', async (_name, samples, code) => {
    await expect(calibrateThresholds(sequence(samples), SHARES)).rejects.toMatchObject({ code });
  });
});
