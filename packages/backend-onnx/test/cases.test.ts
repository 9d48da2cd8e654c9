/**
 * Hard situations from fixtures/cases on ONNX Runtime: expected answers come from the case, not from the reference backend.
 */
import {
  type Backend,
  createCache,
  createPlan,
  f16ToF32,
  f32Tensor,
  type Geometry,
  LowbitKvError,
  type QuantizedTensorScheme,
} from '@lowbit-kv/core';
import { lcgNormal, maxAbsDifference } from '@lowbit-kv/core/testing';
import { describe, expect, it } from 'vitest';
import { attendOnce } from './support/attend-once.js';
import { encodeOnce, readCodes, signed } from './support/encode-once.js';
import { loadCase } from './support/load-case.js';
import { asymmetric, bands, channelScaled, scheme, symmetric } from './support/schemes.js';
import { backend, createTwin } from './support/twin.js';

const f16 = { bits: 16 } as const;

function geometry(dim: number, change: Partial<Geometry> = {}): Geometry {
  return {
    layers: 1,
    queryHeads: 1,
    kvHeads: 1,
    keyHeadDim: dim,
    valueHeadDim: dim,
    ...change,
  };
}

function filled(length: number, value: (i: number) => number): Float32Array {
  return Float32Array.from({ length }, (_, i) => value(i));
}

interface Parity {
  readonly D: number;
  readonly q: number[];
  readonly pastK: number[][];
  readonly pastV: number[][];
  readonly newK: number[][];
  readonly newV: number[][];
  readonly scale: number;
}

it('onnx-reference-parity: past and new tokens weigh as computed by hand', async () => {
  const { input, expected } = loadCase<
    Parity,
    { output: number[]; tolerance: number; presentLength: number; presentK: number[][] }
  >('onnx-reference-parity');
  const chunk = (key: number[][], value: number[][]) => ({
    key: Float32Array.from(key.flat()),
    value: Float32Array.from(value.flat()),
  });
  const result = await attendOnce({
    scheme: scheme({ key: f16, value: f16 }),
    geometry: geometry(input.D, { scale: input.scale }),
    chunks: [chunk(input.pastK, input.pastV), chunk(input.newK, input.newV)],
    query: Float32Array.from(input.q),
  });
  for (const [i, value] of expected.output.entries())
    expect(Math.abs((result.output[i] as number) - value)).toBeLessThanOrEqual(expected.tolerance);
  expect(result.logSumExp[0]).toBeCloseTo(Math.log(Math.exp(4) + 1), 5);
  expect(result.decoded.key.shape[0]).toBe(expected.presentLength);
  expect([...result.decoded.key.data]).toEqual(expected.presentK.flat());
});

/** Window pages full of NaN, so that anything read past the length shows. */
const poisoned: Backend = {
  ...backend,
  createStore: async (plan, options) => {
    const store = await backend.createStore(plan, options);
    const count = options.pages[0]?.window ?? 0;
    const pages = Array.from({ length: count }, (_, i) => i);
    const bytes = new Uint8Array(count * (plan.layers[0]?.key.windowPageBytes ?? 0)).fill(0xff);
    for (const tensor of ['key', 'value'] as const)
      await store.writePages({ layer: 0, tensor, kind: 'window', pages }, bytes);
    return store;
  },
};

it('onnx-reference-parity: room for eight tokens, NaN in it, and the result put where the past came from', async () => {
  const { input, expected } = loadCase<Parity, { output: number[]; tolerance: number }>(
    'onnx-reference-parity',
  );
  const plan = createPlan(
    scheme({ key: f16, value: f16 }),
    geometry(input.D, { scale: input.scale }),
  );
  const cache = await createCache(plan, poisoned, { capacity: { tokens: 8 } });
  const sequence = cache.createSequence();
  const row = (values: number[][]) => f32Tensor(Float32Array.from(values.flat()), [1, 1, input.D]);
  const past = { key: row(input.pastK), value: row(input.pastV) };
  await cache.append([{ sequence, tokens: 1 }], [past]);
  const step = cache.step([{ sequence, tokens: 1 }]);
  step.append(0, row(input.newK), row(input.newV));
  const inside = await step.attend(0, row([input.q])).read();
  for (const { data } of Object.values(past)) data.set(inside.output.data);
  await step.commit();
  const outside = await cache.attend(0, row([input.q]), [sequence]).read();
  for (const { output } of [inside, outside])
    expect(maxAbsDifference(output.data, expected.output)).toBeLessThanOrEqual(expected.tolerance);
  cache.dispose();
});

describe('num-rounding-ties', () => {
  const { input, expected } = loadCase<
    { asymmetric2bit: { group: number[] }; symmetricMagnitude: { group: number[] } },
    { codes: { halfEven: { asym: number[]; sym: number[] } } }
  >('num-rounding-ties');

  it('asymmetric', async () => {
    const { group } = input.asymmetric2bit;
    const { codes } = await encodeOnce(asymmetric(2, 'channels', 5), group, 5);
    expect(readCodes(codes, 5, 2)).toEqual(expected.codes.halfEven.asym);
  });

  it('sign and magnitude', async () => {
    const { group } = input.symmetricMagnitude;
    const { codes } = await encodeOnce(symmetric(3, 'signmag', 'channels', 8), group, 8);
    const levels = readCodes(codes, 8, 3).map((code) => signed(code, 3) + 0);
    expect(levels).toEqual(expected.codes.halfEven.sym);
  });
});

it('num-f16-extremes-overflow: scales stay finite f16 and codes in range', async () => {
  const { input, expected } = loadCase<
    { group: number[] },
    { perBits: Record<string, { scale_f16: number }> }
  >('num-f16-extremes-overflow');
  for (const bits of [2, 4, 8] as const) {
    const { codes, parameters } = await encodeOnce(
      asymmetric(bits, 'channels', 32),
      input.group,
      32,
    );
    const scale = f16ToF32(parameters.scale?.[0] ?? 0x7e00);
    expect(scale).toBe(expected.perBits[bits]?.scale_f16);
    const zero = f16ToF32(parameters.zero?.[0] ?? 0x7e00);
    const bound = scale / 2 + 48;
    for (const [i, code] of readCodes(codes, 32, bits).entries())
      expect(Math.abs(code * scale + zero - (input.group[i] as number))).toBeLessThanOrEqual(bound);
  }
});

describe('num-constant-groups: attention returns the constant', () => {
  const { input } = loadCase<{ recipe: { values: number[] }; bits: (2 | 3 | 4 | 8)[] }, unknown>(
    'num-constant-groups',
  );
  it.each(input.bits)('%i bits', async (bits) => {
    for (const constant of input.recipe.values) {
      const tensor = filled(64 * 64, () => constant);
      for (const along of ['tokens', 'channels'] as const) {
        const result = await attendOnce({
          scheme: scheme({
            key: symmetric(bits, 'signmag', along, 32),
            value: asymmetric(bits, along, 32),
          }),
          geometry: geometry(64, { scale: 1 }),
          chunks: [{ key: tensor, value: tensor }],
          query: filled(64, (i) => (i === 7 ? 1 : 0)),
        });
        expect(result.packed).toEqual({ key: 64, value: 64 });
        for (const x of result.output)
          expect(Math.abs(x - constant)).toBeLessThanOrEqual(2 ** -23 * Math.abs(constant));
        // 64 equal logits: the decoded key is what the log-sum-exp has over ln 64. No symmetric scale is below 2^-14.
        const key = (result.logSumExp[0] as number) - Math.log(64);
        const allowed = Math.max(2 ** -10 * Math.abs(constant), 2 ** -15) + 2 ** -20;
        expect(Math.abs(key - constant)).toBeLessThanOrEqual(allowed);
      }
    }
  });
});

it('num-packing-order-all-codes: every code once, weighed by its place', async () => {
  const { input, expected } = loadCase<
    { perBits: Record<string, number[] | string> },
    { fourBitDot: number }
  >('num-packing-order-all-codes');
  const sixteen = input.perBits[4] as number[];
  const row = [...sixteen, ...sixteen];
  const result = await attendOnce({
    scheme: scheme({ key: asymmetric(4, 'channels', 32), value: asymmetric(4, 'channels', 32) }),
    geometry: geometry(32, { scale: 1 }),
    chunks: [{ key: Float32Array.from(row), value: Float32Array.from(row) }],
    query: filled(32, (i) => (i < 16 ? i + 1 : 0)),
  });
  // One token: the log-sum-exp is its logit, the output its value.
  expect(result.logSumExp[0]).toBe(expected.fourBitDot);
  expect([...result.output]).toEqual(row);
  for (const bits of [2, 3, 8] as const) {
    const all = Array.from({ length: 2 ** bits }, (_, code) => code);
    const { codes, parameters } = await encodeOnce(
      asymmetric(bits, 'channels', all.length),
      all,
      all.length,
    );
    expect(readCodes(codes, all.length, bits)).toEqual(all);
    expect(f16ToF32(parameters.scale?.[0] ?? 0)).toBe(1);
  }
});

it('num-qk-f16-accumulate-overflow: dot products beyond f16', async () => {
  const result = await attendOnce({
    scheme: scheme({ key: f16, value: f16 }),
    geometry: geometry(128),
    chunks: [
      {
        key: filled(3 * 128, (i) => [32, 31.5, -32][Math.floor(i / 128)] as number),
        value: filled(3 * 128, (i) => Math.floor(i / 128) + 1),
      },
    ],
    query: filled(128, () => 32),
  });
  for (const x of result.output) expect(Math.abs(x - 1)).toBeLessThanOrEqual(1e-3);
});

describe('num-folded-query-range', () => {
  const { expected } = loadCase<
    unknown,
    { overflow: { output: number }; underflow: { output: number }; tolerance: number }
  >('num-folded-query-range');
  it.each([
    ['overflow', (t: number, c: number) => (c === 0 ? 256 * (t % 16) : 0), 0, 1024, 0.125],
    [
      'underflow',
      (t: number, c: number) => (c === 0 ? 4096 * (t % 16) : c === 1 ? (t % 16) * 2 ** -14 : 0),
      1,
      1,
      16384,
    ],
  ] as const)('%s', async (run, key, channel, amplitude, scale) => {
    const result = await attendOnce({
      scheme: scheme({ key: asymmetric(4, 'tokens', 32), value: f16 }),
      geometry: geometry(64, { scale }),
      chunks: [
        {
          key: filled(32 * 64, (i) => key(Math.floor(i / 64), i % 64)),
          value: filled(32 * 64, (i) => Math.floor(i / 64)),
        },
      ],
      query: filled(64, (i) => (i === channel ? amplitude : 0)),
    });
    for (const x of result.output)
      expect(Math.abs(x - expected[run].output)).toBeLessThanOrEqual(expected.tolerance);
  });
});

it('num-zero-channel-normaliser: a channel that was zero does not divide by zero', async () => {
  const key = channelScaled(symmetric(8, 'signmag', 'channels', 32), 32);
  const prefill = filled(32 * 32, (i) =>
    i % 32 === 3 || i % 32 === 9 ? 0 : i % 32 === 12 ? 2 ** -24 : 1,
  );
  const decode = filled(8 * 32, () => 1);
  const result = await attendOnce({
    scheme: scheme({ key, value: f16 }),
    geometry: geometry(32, { scale: 1, slidingWindow: { size: 1, sinks: 0 } }),
    chunks: [
      { key: prefill, value: prefill },
      { key: decode, value: decode },
    ],
    query: filled(32, () => 1),
  });
  // Only the newest token is visible, so the log-sum-exp is its logit.
  expect(Math.abs((result.logSumExp[0] as number) - 32)).toBeLessThanOrEqual(0.02 * 32);
});

describe('num-threshold-groups-empty', () => {
  const { input } = loadCase<
    {
      thresholds: { outerHi: number; outerLo: number; innerHi: number; innerLo: number };
      tokens: { name: string; values: number[] }[];
    },
    unknown
  >('num-threshold-groups-empty');
  const { outerHi, outerLo, innerHi, innerLo } = input.thresholds;
  const edges = { outerLow: outerLo, outerHigh: outerHi, innerLow: innerLo, innerHigh: innerHi };

  it.each(input.tokens)('$name', async ({ values }) => {
    for (const middle of ['midRise', 'uniform'] as const) {
      const encoded = await encodeOnce(bands(middle, 'head'), values, 64, edges);
      for (const bits of Object.values(encoded.parameters))
        expect(Number.isFinite(f16ToF32(bits[0] as number))).toBe(true);
      const outside = values.filter((x) => x <= outerLo || x >= outerHi);
      const inside = values.filter((x) => x > innerLo && x < innerHi);
      expect(encoded.entries.length).toBe(outside.length + inside.length);
      expect(encoded.entries.filter((byte) => (byte & 64) !== 0).length).toBe(outside.length);
    }
  });
});

describe('num-nan-inf-containment', () => {
  const { input } = loadCase<
    {
      recipe: { seed: number; shape: number[]; std: number };
      poison: { tensor: 'K' | 'V'; index: [number, number, number, number]; value: number }[];
    },
    unknown
  >('num-nan-inf-containment');
  const shape = { layers: 1, queryHeads: 2, kvHeads: 2, keyHeadDim: 64, valueHeadDim: 64 };
  const heads = lcgNormal({ seed: input.recipe.seed, shape: input.recipe.shape, dtype: 'f32' });
  // The case has heads before tokens.
  const clean = filled(64 * 2 * 64, (i) => {
    const [token, head, channel] = [Math.floor(i / 128), Math.floor(i / 64) % 2, i % 64];
    return heads[(head * 64 + token) * 64 + channel] as number;
  });
  const schemes: Record<string, readonly [QuantizedTensorScheme, QuantizedTensorScheme]> = {
    asymmetric: [asymmetric(2, 'tokens', 32), asymmetric(4, 'channels', 32)],
    symmetric: [symmetric(3, 'full', 'channels', 32), symmetric(3, 'signmag', 'tokens', 32)],
    bands: [bands('midRise', 'head'), bands('uniform', 'head')],
  };

  it.each(Object.entries(schemes))('%s: head 0 is untouched', async (_, [key, value]) => {
    const one = {
      scheme: scheme({ key, value }),
      geometry: shape,
      query: filled(128, (i) => Math.sin(i)),
    };
    const expected = await attendOnce({ ...one, chunks: [{ key: clean, value: clean }] });
    for (const { tensor, index, value: bad } of input.poison) {
      const poisoned = clean.slice();
      poisoned[(index[2] * 2 + index[1]) * 64 + index[3]] = bad;
      const chunks = [
        { key: tensor === 'K' ? poisoned : clean, value: tensor === 'V' ? poisoned : clean },
      ];
      await expect(attendOnce({ ...one, chunks })).rejects.toSatisfy((error) =>
        LowbitKvError.is(error, 'NON_FINITE'),
      );
      const { output } = await attendOnce({ ...one, chunks, nonFinite: 'mask' });
      expect(output.slice(0, 64)).toEqual(expected.output.slice(0, 64));
      expect(output.slice(64).every((x) => x === 0)).toBe(false);
    }
  });

  it('a masked value packs to the bytes of the reference', async () => {
    for (const [key, value] of Object.values(schemes)) {
      const twin = await createTwin(scheme({ key, value }), shape, { nonFinite: 'mask' });
      try {
        const poisoned = clean.slice();
        poisoned[700] = Number.NaN;
        poisoned[3000] = Number.POSITIVE_INFINITY;
        const pair = twin.createPair();
        const tensor = { type: 'f32', shape: [64, 2, 64], data: poisoned } as const;
        await twin.append(pair, tensor, tensor);
        expect(await twin.compareBlocks(pair)).toBe(2);
      } finally {
        twin.dispose();
      }
    }
  });
});
