// Errors on normal data against numpy, isolation of tokens and heads, bits per element, and head dims that do not fit.
import {
  bitsPerElement,
  createPlan,
  decodeF16,
  paperBitsPerElement,
  type Scheme,
} from '@lowbit-kv/core';
import { lcgNormal } from '@lowbit-kv/core/testing';
import { describe, expect, test } from 'vitest';
import { DrivenCache, relativeRmse } from '../../core/test/support/driven-cache.js';
import { blockFormat, floatFormat, presets, qserveKv4Like, tokenHead } from '../src/index.js';
import { gaussian } from './support/gaussian.js';

const q8 = blockFormat({ keys: 'q8_0', values: 'q8_0' });
const q4 = blockFormat({ keys: 'q4_0', values: 'q4_0' });
const int8 = tokenHead({ bits: 8, mode: 'asymmetric' });
const int8Symmetric = tokenHead({ bits: 8, mode: 'symmetric' });
const int4 = tokenHead({ bits: 4, mode: 'asymmetric' });
const int4Symmetric = tokenHead({ bits: 4, mode: 'symmetric' });
const fp8 = floatFormat({ keys: 'fp8-e4m3', values: 'fp8-e4m3' });
const nvfp4 = floatFormat({ keys: 'nvfp4', values: 'nvfp4' });
const mxfp4 = floatFormat({ keys: 'mxfp4', values: 'mxfp4' });

describe('error on normal data', () => {
  // Root mean square error over the deviation: normal-error.py.
  const cases: [string, number, number, Scheme][] = [
    ['int8 asymmetric', 64, 0.005276, int8],
    ['int8 asymmetric', 128, 0.005869, int8],
    ['int8 symmetric', 64, 0.005934, int8Symmetric],
    ['int8 symmetric', 128, 0.006457, int8Symmetric],
    ['int4 asymmetric', 64, 0.08959, int4],
    ['int4 asymmetric', 128, 0.09971, int4],
    ['int4 symmetric', 64, 0.1075, int4Symmetric],
    ['int4 symmetric', 128, 0.1172, int4Symmetric],
    ['q8_0', 64, 0.005349, q8],
    ['q4_0', 64, 0.08588, q4],
    ['like QServe', 128, 0.09971, qserveKv4Like],
    ['FP8', 64, 0.02652, fp8],
    ['NVFP4', 64, 0.09513, nvfp4],
    ['MXFP4', 64, 0.1149, mxfp4],
  ];
  test.each(cases)('%s, head dim %i', async (_, headDim, theory, scheme) => {
    const tokens = 512;
    const count = tokens * 2 * headDim;
    const data = { key: gaussian(11, count), value: gaussian(12, count) };
    const cache = await DrivenCache.open(scheme, { tokens, headDim, kvHeads: 2, ...data });
    await cache.append(tokens);
    const counts = { packed: tokens, tail: 0, sinks: 0 };
    expect(await cache.windows()).toEqual({ key: counts, value: counts });
    const original = cache.original();
    const decoded = await cache.materialize();
    for (const tensor of ['key', 'value'] as const) {
      const error = relativeRmse(decoded[tensor], original[tensor], 0, original[tensor].length);
      expect(Math.abs(error / theory - 1)).toBeLessThan(0.01);
    }
  });
});

test.each([
  ['int4 symmetric', int4Symmetric],
  ['q4_0', q4],
  ['MXFP4', mxfp4],
])('%s: a loud head and a loud token harm no other', async (_, scheme) => {
  const shape = { tokens: 64, kvHeads: 2, headDim: 64 };
  const key = lcgNormal({ seed: 7, shape: [64, 2, 64], dtype: 'f16' });
  const plain = await DrivenCache.open(scheme, { ...shape, key });
  await plain.append(64);
  const loud = key.slice();
  // Head 1 of every token and both heads of token 9 are set to 1000.
  const isLoud = (i: number) => Math.floor(i / 64) % 2 === 1 || Math.floor(i / 128) === 9;
  for (let i = 0; i < loud.length; i++) if (isLoud(i)) loud[i] = 0x63d0;
  expect(decodeF16(loud.subarray(64, 65))[0]).toBe(1000);
  const shouted = await DrivenCache.open(scheme, { ...shape, key: loud });
  await shouted.append(64);
  const quiet = async (cache: DrivenCache) =>
    (await cache.materialize()).key.filter((_value, i) => !isLoud(i));
  const values = await quiet(plain);
  expect(values.length).toBe(63 * 64);
  expect(await quiet(shouted)).toEqual(values);
  expect(values.some((x) => Math.abs(x) > 1)).toBe(true);
});

describe('packing', () => {
  const query = lcgNormal({ seed: 5, shape: [2, 64], dtype: 'f32', std: 2 });
  const attendFirstToken = async (scheme: Scheme) => {
    const cache = await DrivenCache.open(scheme, { tokens: 1, headDim: 64 });
    // Attention over one token is its value.
    const inStep = (await cache.attendInStep(query)).subarray(0, 64);
    const stored = (await cache.materialize()).value;
    return { inStep, stored, original: cache.original().value };
  };

  test('before attention: a step reads its own token as stored', async () => {
    const { inStep, stored, original } = await attendFirstToken(int4);
    expect(relativeRmse(inStep, stored, 0, 64)).toBeLessThan(1e-6);
    expect(relativeRmse(stored, original, 0, 64)).toBeGreaterThan(0.05);
  });

  test('after attention, like QServe: a step reads its own token in f16', async () => {
    const { inStep, stored, original } = await attendFirstToken(qserveKv4Like);
    expect(relativeRmse(inStep, original, 0, 64)).toBeLessThan(1e-6);
    expect(relativeRmse(stored, original, 0, 64)).toBeGreaterThan(0.05);
  });
});

test.each<[number, Record<string, number>]>([
  [
    64,
    {
      'int8-token-head-asymmetric': 8.5,
      'int8-token-head-symmetric': 8.25,
      'int4-token-head-asymmetric': 4.5,
      'int4-token-head-symmetric': 4.25,
      'q8-0': 8.5,
      'q4-0': 4.5,
      'q8-0-keys-q4-0-values': 6.5,
      'qserve-kv4-like': 4.5,
      'fp8-e4m3': 8,
      nvfp4: 4.5,
      mxfp4: 4.25,
    },
  ],
  [
    128,
    {
      'int8-token-head-asymmetric': 8.25,
      'int8-token-head-symmetric': 8.125,
      'int4-token-head-asymmetric': 4.25,
      'int4-token-head-symmetric': 4.125,
      'q8-0': 8.5,
      'q4-0': 4.5,
      'q8-0-keys-q4-0-values': 6.5,
      'qserve-kv4-like': 4.25,
      'fp8-e4m3': 8,
      nvfp4: 4.5,
      mxfp4: 4.25,
    },
  ],
])('bits per element at head dim %i', (headDim, expected) => {
  const shape = { kvHeads: 8, headDim };
  const dims = { keyHeadDim: headDim, valueHeadDim: headDim };
  const geometry = { layers: 2, queryHeads: 32, kvHeads: 8, ...dims };
  for (const scheme of presets) {
    const paper = [scheme.key, scheme.value].map((tensor) => paperBitsPerElement(tensor, shape));
    expect((paper[0]! + paper[1]!) / 2).toBe(expected[scheme.id]);
    const exact = bitsPerElement(createPlan(scheme, geometry)).all;
    expect(exact.total).toBe(expected[scheme.id]);
    expect(exact.alignment).toBe(0);
  }
});

test('blocks of 32 need a head dim of whole blocks; token and head, and blocks of 16, take them', async () => {
  for (const [keyHeadDim, valueHeadDim, tensor] of [
    [80, 64, 'keys'],
    [64, 80, 'values'],
  ] as const) {
    const geometry = { layers: 1, queryHeads: 2, kvHeads: 1, keyHeadDim, valueHeadDim };
    for (const scheme of [q8, q4, mxfp4]) {
      expect(() => createPlan(scheme, geometry)).toThrow(
        expect.objectContaining({
          code: 'SHAPE_UNSUPPORTED',
          message: expect.stringContaining(`head dim of the ${tensor}`),
        }),
      );
    }
  }
  for (const [scheme, headDim] of [
    [int4, 72],
    [nvfp4, 80],
  ] as const) {
    const cache = await DrivenCache.open(scheme, { tokens: 128, headDim });
    await cache.append(128);
    const { key } = cache.original();
    const error = relativeRmse((await cache.materialize()).key, key, 0, key.length);
    expect(error).toBeGreaterThan(0.05);
    expect(error).toBeLessThan(0.12);
  }
});
