// Transforms: what packing applies and what attention undoes cancel; statistics are those of plain arithmetic.
import { describe, expect, it } from 'vitest';
import { createCache } from '../../src/cache/create-cache.js';
import { decodeF16, encodeF16, f16ToF32, roundToF16 } from '../../src/float16.js';
import { hadamard, rotationSigns } from '../../src/law/rotation.js';
import { measureStatistics, tensorReciprocal } from '../../src/law/statistics.js';
import { statisticsFault } from '../../src/law/statistics-range.js';
import { Transforms } from '../../src/law/transforms.js';
import { createPlan, schemeFingerprint } from '../../src/plan/plan.js';
import { referenceBackend } from '../../src/reference/reference-backend.js';
import type { QuantizedTensorScheme, Scheme, Transform } from '../../src/scheme.js';
import { f16Tensor, f32Tensor } from '../../src/tensor.js';
import {
  inlineCalibration,
  inlineNeed,
  lcgNormal,
  nmse,
  referenceAttention,
} from '../../src/testing/index.js';
import { hex } from './support.js';
import { bitsOf, floatsOf, lawVectors } from './vectors.js';

const STATISTICS = 40;
const SCALE: Transform = {
  kind: 'channelScale',
  scope: 'sequence',
  statistic: 'rootAbsoluteMaximum',
  statisticsTokens: STATISTICS,
  clamp: [2 ** -6, 2 ** 6],
  minimumSpread: 1,
};
const MEAN: Transform = { kind: 'channelMean', scope: 'sequence', statisticsTokens: STATISTICS };
const CLEAR_MEAN: Transform = { ...MEAN, minimumOffset: 3 };
const HADAMARD: Transform = { kind: 'hadamard' };
const SIGNED: Transform = { kind: 'hadamard', seed: 7 };
const ORDER: Transform = { kind: 'channelOrder', scope: 'model' };
const TENSOR: Transform = {
  kind: 'tensorScale',
  scope: 'sequence',
  statisticsTokens: STATISTICS,
  largest: 448,
};
const CHAINS: Record<string, readonly Transform[]> = {
  scale: [SCALE],
  mean: [MEAN],
  hadamard: [HADAMARD],
  'mean, scale': [MEAN, SCALE],
  'scale, mean': [SCALE, MEAN],
  'mean, scale, hadamard': [MEAN, SCALE, HADAMARD],
  'hadamard, mean': [HADAMARD, MEAN],
  'clear means': [CLEAR_MEAN],
  'signed rotation': [SIGNED],
  'tensor scale': [TENSOR],
  'calibrated scale': [{ kind: 'channelScale', scope: 'model' }],
  'calibrated mean': [{ kind: 'channelMean', scope: 'model' }],
  'calibrated tensor scale': [{ kind: 'tensorScale', scope: 'model' }],
  order: [ORDER],
  'order, mean, signed rotation, calibrated scale': [
    ORDER,
    MEAN,
    SIGNED,
    { kind: 'channelScale', scope: 'model' },
  ],
  'signed rotation, clear means, tensor scale': [SIGNED, CLEAR_MEAN, TENSOR],
};
const heads = 2;
const headDim = 32;
const width = heads * headDim;

function tensor(transforms: readonly Transform[], bits: 2 | 8 = 8): QuantizedTensorScheme {
  return {
    bits,
    groups: { along: 'channels', size: 32 },
    quantizer: { mode: 'asymmetric', codes: 'uniform' },
    parameters: { scale: 'f16', zero: 'f16' },
    window: { recent: 8, flush: 8 },
    transforms,
  };
}

function schemeOf(transforms: readonly Transform[], bits: 2 | 8 = 8): Scheme {
  const key = tensor(transforms, bits);
  return {
    specVersion: 1,
    id: 'transformed',
    title: 'Transformed',
    sinks: 3,
    packing: 'before-attention',
    key,
    value: key,
    calibration: inlineNeed([key, key]),
  };
}

const geometry = {
  layers: 1,
  queryHeads: 4,
  kvHeads: heads,
  keyHeadDim: headDim,
  valueHeadDim: headDim,
};

function planOf(transforms: readonly Transform[], bits: 2 | 8 = 8) {
  const scheme = schemeOf(transforms, bits);
  const calibration = inlineCalibration(scheme, geometry);
  return createPlan(scheme, geometry, calibration === undefined ? {} : { calibration });
}

/** f16 bits `[tokens, heads, headDim]` with large means in some channels and uneven spreads. */
function data(tokens: number, seed: number): Uint16Array {
  const values = decodeF16(
    lcgNormal({ seed, shape: [tokens, width], dtype: 'f16' }) as Uint16Array,
  );
  return encodeF16(
    values.map((x, i) => x * (1 + (i % 5)) + (i % width === 7 ? 20 : i % width === 40 ? -12 : 0)),
  );
}

async function filled(transforms: readonly Transform[], tokens: number, bits: 2 | 8 = 8) {
  const cache = await createCache(planOf(transforms, bits), referenceBackend(), {
    capacity: { tokens },
  });
  const sequence = cache.createSequence();
  const key = data(tokens, 1);
  const value = data(tokens, 2);
  for (let at = 0; at < tokens; at += 30) {
    const count = Math.min(30, tokens - at);
    const rows = (bitsOf: Uint16Array) =>
      f16Tensor(bitsOf.subarray(at * width, (at + count) * width), [count, heads, headDim]);
    await cache.append([{ sequence, tokens: count }], [{ key: rows(key), value: rows(value) }]);
  }
  return { cache, sequence, key, value };
}

describe.each(Object.entries(CHAINS))('%s', (_name, transforms) => {
  it('materializes close to what was appended', async () => {
    const { cache, sequence, key, value } = await filled(transforms, 150);
    const held = await cache.materialize(sequence, 0);
    const counts = (await cache.stats()).sequences[0]?.classes ?? [];
    for (const { packed } of counts) expect(packed).toBe(136);
    expect(nmse(held.key.data, decodeF16(key))).toBeLessThan(2e-4);
    expect(nmse(held.value.data, decodeF16(value))).toBeLessThan(2e-4);
  });

  it.each([2, 8] as const)(
    'attends as float64 attention over what it holds, %i bits',
    async (bits) => {
      const { cache, sequence } = await filled(transforms, 150, bits);
      const query = lcgNormal({ seed: 3, shape: [2 * 4 * headDim], dtype: 'f32' }) as Float32Array;
      const options = { queries: [2], logSumExp: true };
      const q = f32Tensor(query, [2, 4, headDim]);
      const result = await cache.attend(0, q, [sequence], options).read();
      const held = await cache.materialize(sequence, 0);
      const exact = referenceAttention({
        keys: held.key.data,
        values: held.value.data,
        queries: query,
        tokens: 150,
        queryTokens: 2,
        queryHeads: 4,
        kvHeads: heads,
        keyDim: headDim,
        valueDim: headDim,
        scale: 1 / Math.sqrt(headDim),
      });
      // Materialized values are rounded to f32; attention is not.
      expect(nmse(result.output.data, exact.output)).toBeLessThan(1e-11);
      expect(nmse(result.logSumExp?.data ?? [], exact.logSumExp)).toBeLessThan(1e-11);
    },
  );

  it('undoes itself: applied, then inverted', () => {
    const plan = planOf(transforms).layers[0]!.key;
    const tokens = data(STATISTICS, 5);
    const chain = Transforms.of(plan, measureStatistics(plan, tokens))!;
    const values = decodeF16(data(4, 6));
    for (let head = 0; head < heads; head++) {
      const vector = values.slice(head * headDim, (head + 1) * headDim);
      const original = Float64Array.from(vector);
      chain.apply(vector, 0, head);
      expect(nmse(vector, original)).toBeGreaterThan(1e-3);
      const back = Float64Array.from(vector);
      chain.invert(back, 0, head, 1);
      expect(nmse(back, original)).toBeLessThan(1e-12);
      // The dot product with a query is kept.
      const query = Float64Array.from({ length: headDim }, (_, c) => Math.sin(c + head));
      const dot = (a: Float64Array, b: ArrayLike<number>) =>
        a.reduce((sum, x, c) => sum + x * (b[c] as number), 0);
      const expected = dot(query, original);
      const added = chain.applyToQuery(query, 0, head);
      expect(dot(query, vector) + added).toBeCloseTo(expected, 4);
    }
  });
});

it.each([
  ['means', MEAN],
  ['channel scales', SCALE],
  ['tensor scales', TENSOR],
] as const)('%s are those of what is finite', (_, transform) => {
  const plan = planOf([transform]).layers[0]!.key;
  const tokens = data(STATISTICS, 10);
  const infinite = tokens.slice();
  const zero = tokens.slice();
  for (const [token, bits] of [0x7c00, 0xfc00, 0x7e00].entries()) {
    infinite[token * width + 5] = bits;
    zero[token * width + 5] = 0;
  }
  expect(measureStatistics(plan, infinite)).toEqual(measureStatistics(plan, zero));
  expect(measureStatistics(plan, infinite).some((bits) => bits !== 0x3c00 && bits !== 0)).toBe(
    true,
  );
});

it('the mean is that of the first tokens after the sinks, rounded to f16', () => {
  const plan = planOf([MEAN]).layers[0]!.key;
  const tokens = data(STATISTICS, 9);
  const values = decodeF16(tokens);
  const page = measureStatistics(plan, tokens);
  for (let channel = 0; channel < width; channel++) {
    let sum = 0;
    for (let t = 0; t < STATISTICS; t++) sum += values[t * width + channel]!;
    const mean = f16ToF32(page[channel]!);
    expect(Math.abs(mean - sum / STATISTICS)).toBeLessThanOrEqual(2 ** -10 * Math.abs(mean) + 1e-6);
    expect(roundToF16(mean)).toBe(mean);
  }
});

it('a sum is multiplied with the reciprocal of the number of tokens in f32', () => {
  // 9.34130859375 / 7 lies in the middle of two f16 numbers, the even one below; its product with f32(1/7) lies above.
  const column = [8, 1.3408203125, 2 ** -11, 0, 0, 0, 0];
  const tokens = encodeF16(Float32Array.from(column.flatMap((x) => new Array(width).fill(x))));
  const page = measureStatistics(planOf([MEAN]).layers[0]!.key, tokens);
  expect([...page]).toEqual(new Array(width).fill(15703));
});

it('a mean stays 0 where it is small against the mean absolute deviation', () => {
  const page = (minimumOffset: number) => {
    const plan = planOf([{ ...MEAN, minimumOffset }]).layers[0]!.key;
    return decodeF16(measureStatistics(plan, tokens));
  };
  const tokens = data(STATISTICS, 9);
  const values = decodeF16(tokens);
  const means = page(0);
  const ratios = Array.from(means, (mean, channel) => {
    let deviation = 0;
    for (let t = 0; t < STATISTICS; t++)
      deviation += Math.abs(values[t * width + channel]! - mean) / STATISTICS;
    return Math.abs(mean) / deviation;
  });
  // No channel is near the limit, and there are channels on both sides.
  expect(ratios.every((ratio) => Math.abs(ratio - 3) > 0.01)).toBe(true);
  expect(ratios.filter((ratio) => ratio > 3).length).toBe(2);
  expect([...page(3)]).toEqual([...means].map((mean, c) => (ratios[c]! > 3 ? mean : 0)));
  expect([...page(1e30)]).toEqual([...means].fill(0));
});

it('a head is scaled from the smallest spread on, measured against the lower of two middle channels', () => {
  const plan = planOf([{ ...SCALE, minimumSpread: 4 }]).layers[0]!.key;
  // n is 4 in half of the channels of the first head, in one more of the second: only there it is the median.
  const large = (i: number) => i % 2 === 0 || i === headDim + 1;
  const tokens = encodeF16(Float32Array.from({ length: width }, (_, i) => (large(i) ? 16 : 1)));
  const expected = Array.from(tokens, (_, i) => (large(i) && i < headDim ? 0.25 : 1));
  expect([...decodeF16(measureStatistics(plan, tokens))]).toEqual(expected);
});

it('the tensor scale puts the largest magnitude of all heads and channels on its target', () => {
  const plan = planOf([TENSOR]).layers[0]!.key;
  const tokens = data(STATISTICS, 9);
  const page = measureStatistics(plan, tokens);
  const largest = Math.max(...decodeF16(tokens).map(Math.abs));
  expect(new Set(page).size).toBe(1);
  expect(Math.abs((f16ToF32(page[0]!) * largest) / 448 - 1)).toBeLessThan(2 ** -11);
});

it('a signed rotation spreads a constant vector that the plain one puts on a single channel', () => {
  const rotated = (transform: Transform) => {
    const plan = planOf([transform]).layers[0]!.key;
    const vector = new Float32Array(headDim).fill(1);
    Transforms.of(plan, null)!.apply(vector, 0, 0);
    return Math.max(...vector.map(Math.abs));
  };
  expect(rotated(HADAMARD)).toBeCloseTo(Math.sqrt(headDim), 5);
  expect(rotated(SIGNED)).toBeLessThan(0.6 * Math.sqrt(headDim));
});

it('the Hadamard transform of unit vectors is the matrix of signs', () => {
  for (let i = 0; i < 8; i++) {
    const vector = new Float64Array(8);
    vector[i] = 1;
    hadamard(vector, 0, 8, 1);
    const parity = (n: number) => (n.toString(2).match(/1/g) ?? []).length % 2;
    expect([...vector]).toEqual(Array.from({ length: 8 }, (_, j) => (parity(i & j) ? -1 : 1)));
  }
});

it('a rotation of a head dim that is no power of two is refused', () => {
  const odd = { ...geometry, keyHeadDim: 96 };
  expect(() => createPlan(schemeOf([HADAMARD]), odd)).toThrow(/power of two in the keys/);
});

it('transforms measured on different tokens are refused', () => {
  const other: Transform = { kind: 'channelMean', scope: 'sequence', statisticsTokens: 8 };
  expect(() => createPlan(schemeOf([SCALE, other]), geometry)).toThrow(/same tokens/);
});

describe('vectors of the independent program', () => {
  it.each(lawVectors.transforms.map((row) => [row.name, row] as const))('%s', (_name, row) => {
    const { headDim: dim, chain } = row;
    const vector = { groups: { along: 'vector', scope: 'head' } } as const;
    const scheme = schemeOf(chain);
    const sized = { ...scheme, key: { ...scheme.key, ...vector }, value: { bits: 16 } } as Scheme;
    const calibration = {
      specVersion: 1 as const,
      scheme: schemeFingerprint(sized),
      provenance: {},
      layers: [{ key: row.calibration }],
    };
    const options = sized.calibration.kind === 'offline' ? { calibration } : {};
    const plan = createPlan(sized, { ...geometry, keyHeadDim: dim }, options).layers[0]!.key;
    const tokens = Uint16Array.from(row.tokens.flatMap((line) => [...bitsOf(line)]));
    const page = measureStatistics(plan, tokens);
    expect([...page]).toEqual(row.statistics.flat().map(hex));
    const transforms = Transforms.of(plan, page)!;
    const values = decodeF16(tokens);
    for (let at = 0; at < values.length; at += dim)
      transforms.apply(values, at, (at / dim) % heads);
    // By value: the sign of a zero may differ.
    const expected = row.transformed.flatMap((line) => [...floatsOf(line)]);
    expect(Array.from(values, (x) => x + 0)).toEqual(expected.map((x) => x + 0));
  });

  it.each(lawVectors.rotationSigns)('signs of seed $seed', ({ seed, signs }) => {
    expect([...rotationSigns(seed, signs.length)]).toEqual(signs);
    expect(new Set(signs).size).toBe(2);
  });

  it.each(lawVectors.tensorScale)('$largest over $maximum', ({ largest, maximum, reciprocal }) => {
    const [value] = floatsOf([maximum]);
    const values = Float32Array.of(0, -(value as number), Number.NaN, (value as number) / 2);
    expect(tensorReciprocal(values, largest)).toBe(hex(reciprocal));
  });
});

it.each([
  ['means', MEAN, [0x7c00, 0xfc00, 0x7e00]],
  ['channel scales', SCALE, [0, 1, 0x0400, 0x7bff, 0x8000, 0xbc00, 0x7c00, 0x7e00]],
  ['tensor scales', TENSOR, [0, 1, 0x03ff, 0x8000, 0xbc00, 0x7c00, 0x7e00]],
] as const)(
  '%s: what is measured is a statistics page, these bits are not',
  (_, transform, bad) => {
    const plan = planOf([transform, MEAN]).layers[0]!.key;
    const samples = [1e-7, 1, 6e4].map((size) =>
      encodeF16(
        decodeF16(data(STATISTICS, 10)).map((x) => Math.min(Math.max(x * size, -65504), 65504)),
      ),
    );
    for (const tokens of [...samples, new Uint16Array(STATISTICS * width)]) {
      const page = measureStatistics(plan, tokens);
      const pages = [...page, ...page];
      expect(statisticsFault(plan, (index) => pages[index] ?? -1, pages.length)).toBeNull();
    }
    const page = measureStatistics(plan, data(STATISTICS, 10));
    for (const bits of bad) {
      const at = width - 1;
      const broken = page.slice();
      broken[at] = bits;
      const fault = statisticsFault(plan, (index) => broken[index] ?? -1, broken.length);
      expect(fault).toMatchObject({ bits, valid: expect.any(String) });
    }
  },
);
