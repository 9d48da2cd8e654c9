// Byte accounting of plans: equal to the statistics of real caches, exact at sizes nobody allocates.
import { describe, expect, test } from 'vitest';
import {
  bitsPerElement,
  createCache,
  createPlan,
  f16Tensor,
  type Geometry,
  type Plan,
  planBytes,
  type QuantizedTensorScheme,
  referenceBackend,
  type Scheme,
  schemeFingerprint,
} from '../../src/index.js';
import { lcgNormal, sharedExponentCodec, withSharedExponent } from '../../src/testing/index.js';

interface TensorOptions {
  readonly along: 'tokens' | 'channels' | 'head';
  readonly bits?: 2 | 3 | 4;
  readonly recent: number;
  readonly flush: number;
  readonly statisticsTokens?: number;
}

function tensorOf(options: TensorOptions): QuantizedTensorScheme {
  const { along, bits = 2, recent, flush, statisticsTokens } = options;
  return {
    bits,
    groups: along === 'head' ? { along: 'vector', scope: 'head' } : { along, size: 16 },
    quantizer: { mode: 'asymmetric', codes: 'uniform' },
    parameters: { scale: 'f16', zero: 'f16' },
    window: { recent, flush },
    ...(statisticsTokens === undefined
      ? {}
      : {
          transforms: [
            {
              kind: 'channelScale',
              scope: 'sequence',
              statistic: 'rootAbsoluteMaximum',
              statisticsTokens,
              clamp: [2 ** -6, 2 ** 6],
              minimumSpread: 1.2,
            },
          ],
        }),
  };
}

function schemeOf(fields: Partial<Scheme> & Pick<Scheme, 'key' | 'value'>): Scheme {
  return {
    specVersion: 1,
    id: 'counted',
    title: 'Counted',
    sinks: 0,
    packing: 'after-attention',
    calibration: { kind: 'none' },
    ...fields,
  };
}

const geometry: Geometry = {
  layers: 3,
  queryHeads: 2,
  kvHeads: 2,
  keyHeadDim: 48,
  valueHeadDim: 80,
};

const schemes: [string, Scheme][] = [
  [
    'blocks of keys, single values',
    schemeOf({
      key: tensorOf({ along: 'tokens', recent: 0, flush: 48 }),
      value: tensorOf({ along: 'channels', recent: 40, flush: 1 }),
    }),
  ],
  [
    'sinks, 3 bits, statistics that delay packing',
    schemeOf({
      sinks: 20,
      packing: 'before-attention',
      key: tensorOf({ along: 'channels', bits: 3, recent: 30, flush: 1, statisticsTokens: 70 }),
      value: tensorOf({ along: 'tokens', bits: 3, recent: 30, flush: 32 }),
      calibration: { kind: 'prefill' },
    }),
  ],
  [
    'statistics with an almost empty window',
    schemeOf({
      key: tensorOf({ along: 'head', recent: 0, flush: 48, statisticsTokens: 70 }),
      value: tensorOf({ along: 'head', bits: 4, recent: 1, flush: 1 }),
      calibration: { kind: 'prefill' },
    }),
  ],
  [
    'f16 keys, and a last layer in f16',
    schemeOf({
      sinks: 5,
      key: { bits: 16 },
      value: tensorOf({ along: 'channels', recent: 2, flush: 3 }),
      overrides: [{ layers: [-1], value: { bits: 16 } }],
    }),
  ],
  [
    'a flush that leaves one token',
    schemeOf({
      key: { bits: 16 },
      value: tensorOf({ along: 'channels', recent: 1, flush: 20 }),
    }),
  ],
];

const coded: [string, Scheme] = [
  'codecs of an odd number of bytes',
  schemeOf({
    sinks: 2,
    key: withSharedExponent({ along: 'tokens', size: 24 }, 24, { recent: 5, flush: 24 }),
    value: withSharedExponent({ along: 'vector', scope: 'head' }, 80, { recent: 9, flush: 2 }),
    codecs: [sharedExponentCodec(24), sharedExponentCodec(80)],
  }),
];

async function statsOf(plan: Plan, tokens: number, chunk: number, rollback: number) {
  const capacity = { tokens: tokens + 1 };
  const cache = await createCache(plan, referenceBackend(), { capacity, rollback });
  const sequence = cache.createSequence();
  while (sequence.length < tokens) {
    const count = Math.min(chunk, tokens - sequence.length);
    const rows = (headDim: number) => {
      const shape = [count, 2, headDim];
      return f16Tensor(lcgNormal({ seed: 3, shape, dtype: 'f16' }), shape);
    };
    const layers = plan.layers.map(({ key, value }) => ({
      key: rows(key.headDim),
      value: rows(value.headDim),
    }));
    await cache.append([{ sequence, tokens: count }], layers);
  }
  const { bytes } = await cache.stats();
  cache.dispose();
  return bytes;
}

function comparable(plan: Plan, tokens: number, options: Parameters<typeof planBytes>[2]) {
  const { codes, parameters, outliers, windows, statistics, alignment, total } = planBytes(
    plan,
    tokens,
    options,
  );
  expect(outliers).toEqual({ reserved: 0, expected: 0 });
  return { codes, parameters, outliers: 0, windows, statistics, alignment, live: total };
}

describe.each([...schemes, coded])('%s', (_name, scheme) => {
  const plan = createPlan(scheme, geometry);

  test.each([
    [0, 0],
    [1, 0],
    [31, 0],
    [70, 0],
    [97, 0],
    [177, 0],
    [300, 0],
    [300, 9],
  ])('%i tokens at once, rollback %i: as a real cache', async (tokens, rollback) => {
    const real = await statsOf(plan, tokens, Math.max(tokens, 1), rollback);
    expect(real).toMatchObject(comparable(plan, tokens, { rollback }));
  });

  test.each([1, 24, 39, 49, 52, 77, 97, 144, 181])(
    '%i tokens one by one: as a real cache',
    async (tokens) => {
      const real = await statsOf(plan, tokens, 1, 0);
      expect(real).toMatchObject(comparable(plan, tokens, { filling: 'token-by-token' }));
    },
  );
});

describe.each(['before-attention', 'after-attention'] as const)('sliding window, %s', (packing) => {
  const planWith = (sinks: number) =>
    createPlan(
      schemeOf({
        sinks: 3,
        packing,
        key: tensorOf({ along: 'tokens', recent: 0, flush: 16 }),
        value: tensorOf({ along: 'channels', recent: 20, flush: 1 }),
      }),
      {
        ...geometry,
        slidingWindow: { size: 50, sinks },
        layerOverrides: [{ layers: [1], slidingWindow: null }],
      },
    );
  const plan = planWith(4);

  test.each([2, 40, 53, 64, 90, 120, 131, 200, 257])('%i tokens at once', async (tokens) => {
    for (const rollback of [0, 12]) {
      const real = await statsOf(plan, tokens, tokens, rollback);
      expect(real).toMatchObject(comparable(plan, tokens, { rollback }));
    }
  });

  test('a window without sinks lets those of the scheme go with the last of them', async () => {
    const without = planWith(0);
    for (const tokens of [52, 53]) {
      const real = await statsOf(without, tokens, tokens, 0);
      expect(real).toMatchObject(comparable(without, tokens, {}));
    }
    expect(planBytes(without, 53).windows).toBeLessThan(planBytes(without, 52).windows);
  });

  test('the bytes of decoding depend on every step and are refused', () => {
    expect(() => planBytes(plan, 90, { filling: 'token-by-token' })).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID' }),
    );
  });

  test('f16 is counted as far as attention sees', () => {
    const perToken = 2 * 2 * (48 + 80);
    expect(planBytes(plan, 1000).f16Total).toBe(perToken * (1000 + 2 * 54));
  });
});

describe('large', () => {
  const large: Geometry = {
    layers: 80,
    queryHeads: 64,
    kvHeads: 8,
    keyHeadDim: 128,
    valueHeadDim: 128,
  };
  const plan = createPlan(
    schemeOf({
      key: tensorOf({ along: 'tokens', recent: 0, flush: 128 }),
      value: tensorOf({ along: 'channels', recent: 128, flush: 1 }),
    }),
    large,
  );

  test('ten million tokens, in closed form', () => {
    const tokens = 10_000_000;
    const width = 80 * 8 * 128;
    const packed = { key: tokens, value: tokens - 128 };
    const bytes = planBytes(plan, tokens);
    // 2-bit codes, and 4 bytes of parameters per 16 elements.
    const elements = BigInt(width) * BigInt(packed.key + packed.value);
    expect(BigInt(bytes.codes)).toBe(elements / 4n);
    expect(BigInt(bytes.parameters)).toBe(elements / 4n);
    expect(bytes.windows).toBe(width * 128 * 2);
    expect(BigInt(bytes.f16Total)).toBe(BigInt(width) * BigInt(tokens) * 4n);
    const pages = BigInt(tokens / 128) * 2n - 1n;
    const pageBytes = BigInt(plan.layers[0]?.key.layout?.pageBytes ?? 0);
    expect(BigInt(bytes.total)).toBe(80n * pages * pageBytes + BigInt(bytes.windows));
  });

  test('a count whose bytes are not exact is refused', () => {
    expect(() => planBytes(plan, 2 ** 40)).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID' }),
    );
    expect(() => planBytes(plan, 1.5)).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }));
    expect(() => planBytes(plan, 9, { filling: 'slowly' as never })).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID' }),
    );
  });
});

describe('outlier bands', () => {
  const tensor = {
    ...tensorOf({ along: 'head', bits: 4, recent: 0, flush: 1 }),
    outliers: {
      kind: 'bands',
      shares: { outer: 0.04, middle: 0.9, inner: 0.06 },
      groupShift: true,
      outlierBits: 5,
      storage: { format: 'coo64', reserve: 20 },
    },
  } as const;
  const scheme = schemeOf({
    key: tensor,
    value: tensor,
    calibration: { kind: 'offline', values: ['thresholds'] },
  });
  const thresholds = { outerLow: -2, outerHigh: 2, innerLow: -0.0625, innerHigh: 0.0625 };

  test('reserved and expected, of a full and of a short block', () => {
    const plan = createPlan(
      scheme,
      { ...geometry, layers: 1 },
      {
        calibration: {
          specVersion: 1,
          scheme: schemeFingerprint(scheme),
          provenance: {},
          layers: [{ key: { thresholds }, value: { thresholds } }],
        },
      },
    );
    const tokens = 132;
    const { outliers, codes, parameters, windows, alignment, total } = planBytes(plan, tokens);
    // Chunks of 64: one of 48 for keys, 64 + 16 for values; end offsets of 2 bytes each.
    const offsets = tokens * 2 * 2 * (1 + 2);
    expect(outliers.reserved).toBe(offsets + tokens * 2 * (20 + 20 + 16));
    // A tenth of 132 * 2 * (48 + 80) elements is 3379.2.
    expect(outliers.expected).toBe(offsets + 3379);
    expect(codes).toBe((tokens * 2 * (48 + 80)) / 2);
    expect(parameters).toBe(tokens * 2 * 2 * 6 * 2);
    expect(windows).toBe(0);
    expect(codes + parameters + outliers.reserved + alignment).toBe(total);

    const bits = bitsPerElement(plan);
    expect(bits.key.outlierOffsets).toBeCloseTo(16 / 48, 12);
    expect(bits.value.outlierOffsets).toBeCloseTo(32 / 80, 12);
    expect(bits.all.outlierOffsets).toBeCloseTo(48 / 128, 12);
    expect(bits.all.outlierEntries).toBeCloseTo(0.8, 12);
  });
});

test('bits of a codec are the bytes of its groups', () => {
  const { key, value } = bitsPerElement(createPlan(coded[1], geometry, { blockTokens: 96 }));
  expect(key).toMatchObject({ codes: (13 * 8) / 24, parameters: 0, alignment: 0 });
  expect(value).toMatchObject({ codes: (41 * 8) / 80, parameters: 0, alignment: 0 });
});

test('bits per element average over layers and tensors by their elements', () => {
  const plan = createPlan(
    schemeOf({
      key: tensorOf({ along: 'channels', recent: 0, flush: 1 }),
      value: tensorOf({ along: 'channels', bits: 4, recent: 0, flush: 1 }),
      overrides: [{ layers: [0], key: { bits: 16 } }],
    }),
    geometry,
  );
  const { key, value, all } = bitsPerElement(plan);
  // Groups of 16: 2 bits of parameters.
  expect(key.codes).toBeCloseTo((16 + 2 + 2) / 3, 12);
  expect(key.parameters).toBeCloseTo((2 * 2) / 3, 12);
  expect(value).toMatchObject({ codes: 4, parameters: 2, alignment: 0, total: 6 });
  expect(all.total).toBeCloseTo((48 * key.total + 80 * value.total) / 128, 12);
});
