// Errors on normal data, constants in values and keys, drifting keys, attention on the packed cache, windows.
import { defineScheme, encodeF16, type Scheme } from '@lowbit-kv/core';
import { lcgNormal, maxAbsDifference, referenceAttention } from '@lowbit-kv/core/testing';
import { describe, expect, test } from 'vitest';
import { measureStatistics } from '../../core/src/law/statistics.js';
import { DrivenCache, relativeRmse } from '../../core/test/support/driven-cache.js';
import { type LowbitTensor, lowbit, presets } from '../src/index.js';

const TOKENS = 512;
const HEAD_DIM = 64;

describe('error of parts on normal data', () => {
  // Mean squared error of the best uniform quantizer of 2^bits levels on N(0, 1) (Max, 1960).
  const THEORY = { 2: 0.1188, 3: 0.03744, 4: 0.01154 } as const;
  test.each([2, 3, 4] as const)('mid-rise, %i bits', async (bits) => {
    const part: LowbitTensor = { bits, codes: 'midRise', group: 'head', rotationSeed: 1 };
    const scheme = lowbit({ id: 'x', key: part, value: part, sinks: 0, recent: 0 });
    const shape = { tokens: TOKENS, kvHeads: 2, headDim: 128 };
    const cache = await DrivenCache.open(scheme, shape);
    await cache.append(TOKENS);
    const original = cache.original();
    const decoded = await cache.materialize();
    for (const tensor of ['key', 'value'] as const) {
      const { length } = original[tensor];
      const error = relativeRmse(decoded[tensor], original[tensor], 0, length) ** 2;
      expect(Math.abs(error / THEORY[bits] - 1)).toBeLessThan(0.04);
    }
  });
});

/** The scheme with one tensor not centred. */
function notCentred(scheme: Scheme, tensor: 'key' | 'value'): Scheme {
  const spec = scheme[tensor];
  if (spec.bits === 16) throw new Error('tensor not quantized');
  const transforms = (spec.transforms ?? []).filter(({ kind }) => kind !== 'channelMean');
  const others = [scheme[tensor === 'key' ? 'value' : 'key']];
  const measures = [{ ...spec, transforms }, ...others].some(
    (entry) => entry.bits !== 16 && entry.transforms?.some((step) => 'statisticsTokens' in step),
  );
  return defineScheme({
    ...scheme,
    [tensor]: { ...spec, transforms },
    calibration: { kind: measures ? 'prefill' : 'none' },
  });
}

const LOUD = [5, 20, 33, 60];
const constants = (add: number) => LOUD.map((channel) => ({ channel, mul: 1, add }));

function normal(seed: number, add: number): Uint16Array {
  const channelOps = constants(add);
  return lcgNormal({ seed, shape: [TOKENS, HEAD_DIM], dtype: 'f16', channelOps });
}

/** Mean squared error of attention over 64 queries, in units of the exact output about its mean over the queries. */
async function outputError(scheme: Scheme, data: { key?: Uint16Array; value?: Uint16Array }) {
  const cache = await DrivenCache.open(scheme, { tokens: TOKENS, headDim: HEAD_DIM, ...data });
  await cache.append(TOKENS);
  expect((await cache.windows()).key.packed).toBe(TOKENS - 128);
  const original = cache.original();
  const decoded = await cache.materialize();
  const queryTokens = 64;
  const queries = lcgNormal({ seed: 5, shape: [queryTokens, HEAD_DIM], dtype: 'f32', std: 2 });
  const attend = (keys: Float32Array, values: Float32Array) =>
    referenceAttention({
      keys,
      values,
      queries,
      tokens: TOKENS,
      queryTokens,
      queryHeads: 1,
      kvHeads: 1,
      keyDim: HEAD_DIM,
      valueDim: HEAD_DIM,
      scale: 1 / Math.sqrt(HEAD_DIM),
      causal: false,
    }).output;
  const exact = attend(original.key, original.value);
  const actual = attend(decoded.key, decoded.value);
  let error = 0;
  let energy = 0;
  for (let c = 0; c < HEAD_DIM; c++) {
    let mean = 0;
    for (let i = c; i < exact.length; i += HEAD_DIM) mean += exact[i]! / queryTokens;
    for (let i = c; i < exact.length; i += HEAD_DIM) {
      error += (actual[i]! - exact[i]!) ** 2;
      energy += (exact[i]! - mean) ** 2;
    }
  }
  return error / energy;
}

describe.each(presets)('$id: constants in four channels', (scheme) => {
  test('of 10 in values change little; without centring they cost much', async () => {
    const mild = await outputError(scheme, { value: normal(8, 0) });
    const loud = { value: normal(8, 10) };
    const centred = await outputError(scheme, loud);
    expect(mild).toBeGreaterThan(0);
    expect(centred).toBeLessThan(1.2 * mild);
    expect(await outputError(notCentred(scheme, 'value'), loud)).toBeGreaterThan(2 * centred);
  });

  // The biases of Qwen2.5 put constants of this size, in units of the deviation, into a few key channels.
  test.each([
    [10, 1.4],
    [80, 2],
  ])('of %i in keys change little; without centring they cost much', async (add, cost) => {
    const mild = await outputError(scheme, { key: normal(9, 0) });
    const loud = { key: normal(9, add) };
    const centred = await outputError(scheme, loud);
    expect(mild).toBeGreaterThan(0);
    expect(centred).toBeLessThan(1.2 * mild);
    expect(await outputError(notCentred(scheme, 'key'), loud)).toBeGreaterThan(cost * centred);
  });
});

test('values: means are stored for channels that stand clearly off zero, and no others', async () => {
  const value = normal(8, 10);
  for (const scheme of presets) {
    const cache = await DrivenCache.open(scheme, { tokens: 1, headDim: HEAD_DIM, value });
    const plan = cache.plan.layers[0]!.value;
    const means = measureStatistics(plan, value.subarray(0, 97 * HEAD_DIM));
    expect(means.length).toBe(HEAD_DIM);
    expect([...means.keys()].filter((channel) => means[channel] !== 0)).toEqual(LOUD);
  }
});

test.each(presets)('$id: attention agrees with float64 over what it decodes to', async (scheme) => {
  const tokens = 420;
  const cache = await DrivenCache.open(scheme, { tokens: tokens + 1, kvHeads: 2, headDim: 64 });
  await cache.append(tokens);
  await cache.append(1);
  const query = lcgNormal({ seed: 5, shape: [4, 64], dtype: 'f32', std: 2 });
  const actual = await cache.attend(query);
  const decoded = await cache.materialize();
  const expected = cache.expectedAttention(query, decoded.key, decoded.value);
  expect(maxAbsDifference(actual, expected)).toBeLessThan(1e-5);
  // The same query over the originals differs by far more: the packed state was read.
  const original = cache.original();
  const exact = cache.expectedAttention(query, original.key, original.value);
  expect(maxAbsDifference(actual, exact)).toBeGreaterThan(0.005);
});

test.each(presets)('$id: 32 sinks and the 96 newest tokens stay f16', async (scheme) => {
  const cache = await DrivenCache.open(scheme, { tokens: 300, headDim: 64 });
  await cache.append(128);
  expect((await cache.windows()).value).toEqual({ packed: 0, tail: 96, sinks: 32 });
  await cache.append(100);
  // Only the preset of fewest bits waits for more statistics.
  const waits = scheme.id === 'lowbit-2-3';
  expect((await cache.windows()).key.packed).toBe(waits ? 0 : 100);
  await cache.decodeTo(300);
  const rest = { packed: 172, tail: 96, sinks: 32 };
  expect(await cache.windows()).toEqual({ key: rest, value: rest });
});

test('an all-zero vector is exact', async () => {
  const key = encodeF16(new Float32Array(300 * 64));
  for (const scheme of presets) {
    const cache = await DrivenCache.open(scheme, { tokens: 300, headDim: 64, key });
    await cache.append(300);
    const decoded = (await cache.materialize()).key;
    expect(decoded.every((x) => x === 0)).toBe(true);
  }
});

test('a head dim that is no power of two is refused', async () => {
  for (const scheme of presets)
    await expect(DrivenCache.open(scheme, { tokens: 8, headDim: 96 })).rejects.toMatchObject({
      code: 'SHAPE_UNSUPPORTED',
    });
});
