// What Oaken stores: the worked example bit by bit, errors on normal data, windows, bits per element.
import { readFileSync } from 'node:fs';
import {
  bitsPerElement,
  createPlan,
  decodeF16,
  encodeF16,
  paperBitsPerElement,
  roundToF16,
  type Scheme,
  windowCounts,
} from '@lowbit-kv/core';
import { lcgNormal, maxAbsDifference } from '@lowbit-kv/core/testing';
import { describe, expect, test } from 'vitest';
import { DrivenCache, relativeRmse } from '../../core/test/support/driven-cache.js';
import { oaken, oakenMm, oakenSm, oakenSmToken, presets } from '../src/index.js';
import { fixedCalibration, measuredCalibration } from './support.js';

interface BandVector {
  readonly t_o: [number, number];
  readonly t_i: [number, number];
  readonly x: number[];
  readonly nibbles: number[];
  readonly coo: string[];
  readonly decoded: number[];
}
const vectors = JSON.parse(
  readFileSync(new URL('../../../fixtures/spec-vectors.json', import.meta.url), 'utf8'),
) as { oaken_sm: BandVector; oaken_mm: BandVector };

describe.each<[string, Scheme, BandVector]>([
  ['sm', oakenSm, vectors.oaken_sm],
  ['mm', oakenMm, vectors.oaken_mm],
])('worked example, %s', (_name, scheme, vector) => {
  const thresholds = {
    outerLow: vector.t_o[0],
    outerHigh: vector.t_o[1],
    innerLow: roundToF16(vector.t_i[0]),
    innerHigh: roundToF16(vector.t_i[1]),
  };
  const headDim = vector.x.length;
  // The vector was made from f32 values and edges; rounding them to f16 moves no code.
  const value = encodeF16(Float32Array.from(vector.x));

  test('nibbles, sparse bytes and decoded values', async () => {
    const calibration = fixedCalibration(scheme, thresholds);
    const cache = await DrivenCache.open(scheme, { tokens: 1, headDim, value, calibration });
    await cache.append(1);
    const [block] = await cache.blocks('value');
    const layout = cache.plan.layers[0]!.value.layout!;
    const nibbles = vector.nibbles.map((_, i) => (block!.bytes[i >> 1]! >> (4 * (i & 1))) & 15);
    expect(nibbles).toEqual(vector.nibbles);
    const { offset } = layout.sparse!.entries;
    expect([...block!.bytes.subarray(offset, offset + 5)]).toEqual([...vector.coo.map(Number), 0]);
    const decoded = (await cache.materialize()).value;
    expect(maxAbsDifference(decoded, vector.decoded)).toBeLessThan(1e-3);
  });
});

describe('error on normal channels of log-normal scale', () => {
  // 128 tokens x 32 heads x 128 channels; thresholds and root mean square errors from an independent numpy program.
  const [tokens, kvHeads, headDim] = [128, 32, 128];
  const width = kvHeads * headDim;
  const exponents = lcgNormal({ seed: 77, shape: [width], dtype: 'f32' });
  const channelOps = Array.from(exponents, (exponent, channel) => ({
    channel,
    mul: Math.floor(Math.exp(0.6 * exponent) * 256 + 0.5) / 256,
    add: 0,
  }));
  const data = lcgNormal({ seed: 909, shape: [tokens, width], dtype: 'f16', channelOps });
  const values = decodeF16(data);
  const deviation = Math.sqrt(values.reduce((sum, x) => sum + x * x, 0) / values.length);

  const cases: [Scheme, number][] = [
    [oakenSm, 0.10319],
    [oakenMm, 0.11101],
    [oakenSmToken, 0.11497],
    [oaken({ middle: 'mm', scope: 'token' }), 0.12151],
  ];
  test.each(cases)('$id', async (scheme, numpy) => {
    const calibration = await measuredCalibration(scheme, [
      { layer: 0, tokens, kvHeads, key: values, value: values },
    ]);
    expect(calibration.layers[0]?.value?.thresholds).toEqual({
      outerLow: -3.232421875,
      outerHigh: 3.208984375,
      innerLow: -0.06353759765625,
      innerHigh: 0.0626220703125,
    });
    const shape = { tokens, kvHeads, headDim, key: data, value: data, calibration };
    const cache = await DrivenCache.open(scheme, shape);
    await cache.append(tokens);
    const decoded = (await cache.materialize()).value;
    const error = relativeRmse(decoded, values, 0, values.length) * deviation;
    expect(Math.abs(error / numpy - 1)).toBeLessThan(0.002);
  });
});

test('every token is packed as it arrives and attention sees it packed', async () => {
  const calibration = fixedCalibration(oakenSm, {
    outerLow: -2,
    outerHigh: 2,
    innerLow: -0.0625,
    innerHigh: 0.0625,
  });
  const cache = await DrivenCache.open(oakenSm, { tokens: 12, calibration });
  await cache.append(11);
  const query = lcgNormal({ seed: 5, shape: [2, 32], dtype: 'f32', std: 2 });
  const inStep = await cache.attendInStep(query);
  expect(await cache.windows()).toEqual({
    key: { sinks: 0, packed: 12, tail: 0 },
    value: { sinks: 0, packed: 12, tail: 0 },
  });
  for (const pageClass of cache.plan.classes)
    expect(windowCounts(pageClass, 12)).toEqual({ sinks: 0, packed: 12, tail: 0 });
  const { key, value } = await cache.materialize();
  const packed = cache.expectedAttention(query, key, value);
  expect(maxAbsDifference(inStep, packed)).toBeLessThan(1e-5);
  const f16 = cache.original();
  const exact = cache.expectedAttention(query, f16.key, f16.value);
  expect(maxAbsDifference(inStep, exact)).toBeGreaterThan(0.005);
});

describe('bits per element', () => {
  test.each([
    [32, 128, 4.8234],
    [40, 128, 4.8187],
    [8, 128, 4.8937],
  ])('%i kv heads of %i, as the paper counts', (kvHeads, headDim, bits) => {
    const shape = { kvHeads, headDim };
    expect(paperBitsPerElement(oakenSmToken.key, shape)).toBeCloseTo(bits, 4);
    expect(paperBitsPerElement(oakenSm.key, shape)).toBeCloseTo(5.55, 10);
  });

  test('as stored: five parameters for sm, six for mm, and end offsets', () => {
    const geometry = { layers: 1, queryHeads: 32, kvHeads: 8, keyHeadDim: 128, valueHeadDim: 128 };
    const exact = presets.map((scheme) => {
      const thresholds = { outerLow: -2, outerHigh: 2, innerLow: -0.125, innerHigh: 0.125 };
      const calibration = fixedCalibration(scheme, thresholds);
      return bitsPerElement(createPlan(scheme, geometry, { calibration })).all;
    });
    const parts = { codes: 4, outlierOffsets: 0.25, alignment: 0 };
    const parameters = [(5 * 16) / 128, (6 * 16) / 128, (5 * 16) / 1024];
    for (const [i, bits] of exact.entries()) {
      expect(bits).toMatchObject({ ...parts, parameters: parameters[i] });
      expect(bits.outlierEntries).toBeCloseTo(0.8, 12);
      expect(bits.total).toBeCloseTo(5.05 + parameters[i]!, 12);
    }
  });
});
