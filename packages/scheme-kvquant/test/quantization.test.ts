// What is stored: keys and values by hand, outliers to the bit, attention against float64, windows, exact bits, refusals.
import {
  bitsPerElement,
  type Calibration,
  createPlan,
  encodeF16,
  paperBitsPerElement,
  type Scheme,
  schemeFingerprint,
} from '@lowbit-kv/core';
import { lcgNormal, maxAbsDifference, rotateKeys } from '@lowbit-kv/core/testing';
import { describe, expect, test } from 'vitest';
import { DrivenCache, relativeRmse } from '../../core/test/support/driven-cache.js';
import { kvquant, kvquant2, kvquant3, kvquant4, presets } from '../src/index.js';
import { measuredCalibration } from './support.js';

const rotary = { pairs: 'halves' } as const;

/** One layer of one head: means 1, factors 2, levels -1, -0.5, 0.5, 1 of keys and 0, 0.25, 0.5, 1 of values. */
function handmade(scheme: Scheme, headDim: number): Calibration {
  const all = (x: number) => [new Array<number>(headDim).fill(x)];
  return {
    specVersion: 1,
    scheme: schemeFingerprint(scheme),
    provenance: { source: 'written by hand' },
    layers: [
      {
        key: { channelMeans: all(1), channelFactors: all(2), levels: [-1, -0.5, 0.5, 1] },
        value: { levels: [0, 0.25, 0.5, 1] },
      },
    ],
  };
}

async function decodeOne(scheme: Scheme, rows: { key?: number[]; value?: number[] }) {
  const headDim = 8;
  const bits = (row?: number[]) => encodeF16(Float32Array.from(row ?? new Array(headDim).fill(0)));
  const cache = await DrivenCache.open(scheme, {
    ...{ tokens: 1, headDim, rotary, calibration: handmade(scheme, headDim) },
    ...{ key: bits(rows.key), value: bits(rows.value) },
  });
  await cache.append(1);
  const { key, value } = await cache.materialize();
  return { key: [...key], value: [...value] };
}

test('keys: the nearest level of the normalised channel, the farthest channel to the bit', async () => {
  const scheme = kvquant({ bits: 2, sinks: 0 });
  // (x - 1) / 2: -1, -0.4, 0 (a tie, which goes down), 0.1, 0.7, 0.8, 3.5, -2 (beyond the table).
  const key = [-1, 0.2, 1, 1.2, 2.4, 2.6, 8, -3];
  const decoded = (await decodeOne(scheme, { key })).key;
  expect(decoded).toEqual([-1, 0, 0, 2, 2, 3, 8, -1]);
  const dense = (await decodeOne(kvquant({ bits: 2, sinks: 0, outliers: 0 }), { key })).key;
  expect(dense).toEqual([-1, 0, 0, 2, 2, 3, 3, -1]);
  const two = (await decodeOne(kvquant({ bits: 2, sinks: 0, outliers: 2 }), { key })).key;
  expect(two).toEqual([-1, 0, 0, 2, 2, 3, 8, -3]);
});

test('values: levels of the range without the largest magnitude, which comes back to the bit', async () => {
  const scheme = kvquant({ bits: 2, sinks: 0 });
  // Range -1 to 3: levels -1, 0, 1, 3.
  const value = [-1, -0.6, 0.4, -100.0625, 0.6, 1.9, 2.2, 3];
  expect((await decodeOne(scheme, { value })).value).toEqual([-1, -1, 0, -100.0625, 1, 1, 3, 3]);
});

describe.each(presets)('$id', (scheme) => {
  const [tokens, kvHeads, headDim] = [120, 2, 64];
  const loud = [{ channel: 5, mul: 6, add: 9 }];
  const draw = (seed: number, dtype: 'f16' | 'f32') =>
    lcgNormal({ seed, shape: [tokens, kvHeads, headDim], dtype: dtype as 'f16', channelOps: loud });
  const open = async () => {
    const measured = (seed: number) => Float32Array.from(draw(seed, 'f32'));
    const samples = [
      { layer: 0, tokens, kvHeads, key: measured(1), value: measured(2) },
      { layer: 0, tokens, kvHeads, key: measured(3), value: measured(4) },
    ];
    const calibration = await measuredCalibration(scheme, samples);
    const data = { key: draw(5, 'f16'), value: draw(6, 'f16') };
    return DrivenCache.open(scheme, { tokens, kvHeads, headDim, rotary, calibration, ...data });
  };

  test('errs as its bits say, on other data than it was calibrated on', async () => {
    const cache = await open();
    await cache.append(tokens);
    const original = cache.original();
    const decoded = await cache.materialize();
    const width = kvHeads * headDim;
    // The loud channel of keys is as good as any other: its error alone would be far above the limit.
    const limits = { 2: [0.25, 0.4], 3: [0.14, 0.2], 4: [0.08, 0.1] } as const;
    const [ofKeys, ofValues] = limits[scheme.key.bits as 2 | 3 | 4];
    for (const [tensor, limit] of [
      ['key', ofKeys],
      ['value', ofValues],
    ] as const) {
      const error = relativeRmse(decoded[tensor], original[tensor], width, tokens * width);
      expect(error).toBeLessThan(limit);
      expect(error).toBeGreaterThan(limit / 2.5);
      expect(decoded[tensor].subarray(0, width)).toEqual(original[tensor].subarray(0, width));
    }
    const row = { packed: tokens - 1, tail: 0, sinks: 1 };
    expect(await cache.windows()).toEqual({ key: row, value: row });
  });

  test('attention turns what it decodes to', async () => {
    const cache = await open();
    await cache.append(tokens);
    const query = lcgNormal({ seed: 9, shape: [2 * kvHeads, headDim], dtype: 'f32' });
    const decoded = await cache.materialize();
    const embedding = cache.plan.layers[0]?.geometry.rotary;
    if (!embedding) throw new Error('the plan has no rotary embedding');
    const turned = rotateKeys(decoded.key, { tokens, kvHeads, keyDim: headDim }, embedding);
    const actual = await cache.attend(query);
    const expected = cache.expectedAttention(query, Float32Array.from(turned), decoded.value);
    expect(maxAbsDifference(actual, expected)).toBeLessThan(1e-4);
    const unturned = cache.expectedAttention(query, decoded.key, decoded.value);
    expect(maxAbsDifference(actual, unturned)).toBeGreaterThan(0.01);
  });
});

test('bits per element: codes, two f16 of a value vector, three bytes of each outlier', () => {
  const sizes = { layers: 1, queryHeads: 1, kvHeads: 1 };
  for (const headDim of [64, 128]) {
    const geometry = { ...sizes, keyHeadDim: headDim, valueHeadDim: headDim, rotary };
    const shape = { kvHeads: 1, headDim };
    for (const [scheme, bits, count] of [
      [kvquant2, 2, 1],
      [kvquant3, 3, 1],
      [kvquant4, 4, 1],
      [kvquant({ bits: 3, outliers: 2 }), 3, 2],
      [kvquant({ bits: 3, outliers: 0 }), 3, 0],
    ] as const) {
      const plan = createPlan(scheme, geometry, { calibration: handmade(scheme, headDim) });
      const { key, value } = bitsPerElement(plan);
      const sparse = (24 * count) / headDim;
      expect(key).toMatchObject({ codes: bits, parameters: 0, outlierEntries: sparse });
      expect(value).toMatchObject({
        codes: bits,
        parameters: 32 / headDim,
        outlierEntries: sparse,
      });
      expect(key.total).toBe(bits + sparse);
      expect(value.total).toBe(bits + 32 / headDim + sparse);
      expect(paperBitsPerElement(scheme.key, shape)).toBe(key.total);
    }
  }
});

test('a model without its rotary embedding, and more outliers than channels, are refused', () => {
  const geometry = { layers: 1, queryHeads: 1, kvHeads: 1, keyHeadDim: 64, valueHeadDim: 64 };
  expect(() => createPlan(kvquant2, geometry, { calibration: handmade(kvquant2, 64) })).toThrow(
    expect.objectContaining({
      code: 'GEOMETRY_INVALID',
      message: expect.stringContaining('rotary'),
    }),
  );
  const many = kvquant({ bits: 2, outliers: 65 });
  const calibration = handmade(many, 64);
  expect(() => createPlan(many, { ...geometry, rotary }, { calibration })).toThrow(
    expect.objectContaining({ code: 'SHAPE_UNSUPPORTED' }),
  );
});
