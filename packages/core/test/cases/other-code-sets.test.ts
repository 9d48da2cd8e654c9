// The programs of the cache cases on code sets that do not hold pointer data: attention against float64 attention over
// the cache's own decoded values.
import { describe, expect, it } from 'vitest';
import {
  type Cache,
  type Calibration,
  createCache,
  createPlan,
  decodeF16,
  f16Tensor,
  type Geometry,
  type HostTensor,
  referenceBackend,
  type Scheme,
  type Sequence,
  schemeFingerprint,
} from '../../src/index.js';
import {
  asymmetric,
  E2M1_LEVELS,
  e4m3Levels,
  inlineScheme,
  lcgNormal,
  levelTable,
  maxAbsDifference,
  offsetLevelTable,
  referenceAttention,
  symmetric,
  withTop,
  withTypes,
} from '../../src/testing/index.js';
import { channelKeys, scheme, tensor, tokenKeys } from '../support/schemes.js';
import { loadCase } from '../testing/load-case.js';

const DIM = 64;
const HEADS = 2;
const QUERY_HEADS = 4;
const LIMIT = 1e-5;
const TOKENS = 700;
const keys = lcgNormal({ seed: 61, shape: [TOKENS, HEADS, DIM], dtype: 'f16' });
const values = lcgNormal({ seed: 62, shape: [TOKENS, HEADS, DIM], dtype: 'f16', mean: 0.5 });
const query = f16Tensor(
  lcgNormal({ seed: 63, shape: [1, QUERY_HEADS, DIM], dtype: 'f16', std: 2 }),
  [1, QUERY_HEADS, DIM],
);

function banded(scope: 'head' | 'allHeads', uniform: boolean): Scheme {
  const base = tensor({ along: 'vector', codes: uniform ? 'asymmetric' : 'full', recent: 8 });
  const key = {
    ...base,
    groups: { along: 'vector', scope },
    quantizer: uniform
      ? { mode: 'asymmetric', codes: 'uniform' }
      : { mode: 'symmetric', codes: 'midRise' },
    outliers: {
      kind: 'bands',
      shares: { outer: 0.04, middle: 0.9, inner: 0.06 },
      groupShift: true,
      outlierBits: 5,
      storage: { format: 'coo64', reserve: 64 },
    },
  };
  const calibration = { kind: 'offline', values: ['thresholds'] };
  return {
    ...scheme({ id: `bands-${scope.toLowerCase()}` }),
    key,
    value: key,
    calibration,
  } as never;
}

const E2M1 = { levels: E2M1_LEVELS, scaledBy: 'absoluteMaximum' } as const;

const plans: Record<string, Scheme> = {
  'full, 3 bit': channelKeys({ bits: 3, codes: 'full', residual: 32 }),
  'full, 2 bit, along tokens': tokenKeys({ bits: 2, codes: 'full', sinks: 4 }),
  'fullSigned, 3 bit': channelKeys({ bits: 3, codes: 'fullSigned', sinks: 4 }),
  'fullSigned, 4 bit, along tokens': tokenKeys({ bits: 4, codes: 'fullSigned', residual: 32 }),
  'hybrid, 2 bit': channelKeys({ bits: 2, codes: 'hybrid', residual: 32 }),
  'hybrid, 4 bit, along tokens': tokenKeys({ bits: 4, codes: 'hybrid', residual: 0 }),
  'bands, mid-rise, per head': banded('head', false),
  'bands, uniform, all heads': banded('allHeads', true),
  'E2M1, e4m3 and e8m0 scales': inlineScheme({
    key: withTypes(levelTable(4, E2M1, 'channels', 16), 2),
    value: withTypes(levelTable(4, E2M1, 'tokens', 32, { recent: 8, flush: 32 }), 3),
    sinks: 4,
  }),
  'tables without a scale and over a zero': inlineScheme({
    key: levelTable(8, { levels: e4m3Levels(), scaledBy: 'none' }, 'channels', 64),
    value: offsetLevelTable(3, [0, 0.15, 0.3, 0.45, 0.6, 0.8, 1], 'tokens', 32),
  }),
  'f32 parameters, 4 bit': inlineScheme({
    key: withTypes(asymmetric(4, 'tokens', 32), 1),
    value: withTypes(symmetric(4, 'signmag', 'channels', 32), 1),
    packing: 'after-attention',
  }),
  'top outliers, 3 bit': inlineScheme({
    key: withTop(asymmetric(3, 'tokens', 32), 3),
    value: withTop(symmetric(3, 'signmag', 'channels', 32), 2),
    sinks: 2,
  }),
};

async function open(spec: Scheme, geometry: Partial<Geometry> = {}): Promise<Cache> {
  const bands = {
    thresholds: { outerLow: -1.75, outerHigh: 2.25, innerLow: -0.125, innerHigh: 0.125 },
  };
  const calibration: Calibration = {
    specVersion: 1,
    scheme: schemeFingerprint(spec),
    provenance: {},
    layers: [{ key: bands, value: bands }],
  };
  const plan = createPlan(
    spec,
    {
      layers: 1,
      queryHeads: QUERY_HEADS,
      kvHeads: HEADS,
      keyHeadDim: DIM,
      valueHeadDim: DIM,
      ...geometry,
    },
    spec.calibration.kind === 'offline' ? { calibration } : {},
  );
  return createCache(plan, referenceBackend(), { capacity: { tokens: 1500, sequences: 5 } });
}

/** Rows of the data from `first` on: every append takes other rows, so that mixed-up tokens show. */
async function append(
  cache: Cache,
  sequence: Sequence,
  first: number,
  count: number,
  chunk = count,
) {
  for (let done = 0; done < count; done += chunk) {
    const size = Math.min(chunk, count - done);
    const part = (source: Uint16Array) =>
      f16Tensor(source.slice((first + done) * HEADS * DIM, (first + done + size) * HEADS * DIM), [
        size,
        HEADS,
        DIM,
      ]);
    await cache.append([{ sequence, tokens: size }], [{ key: part(keys), value: part(values) }]);
  }
}

/** Attention equals the oracle over the decoded cache, and the decoded cache is near the rows it came from. */
async function check(cache: Cache, sequence: Sequence, rows: readonly number[]): Promise<void> {
  expect(sequence.length).toBe(rows.length);
  const { slidingWindow } = cache.plan.layers[0]?.geometry ?? { slidingWindow: null };
  const stored = await cache.materialize(sequence, 0);
  const dense = (tensor: HostTensor, positions: readonly number[]) => {
    const result = new Float32Array(rows.length * HEADS * DIM);
    for (const [i, p] of positions.entries())
      result.set(tensor.data.subarray(i * HEADS * DIM, (i + 1) * HEADS * DIM), p * HEADS * DIM);
    return result;
  };
  const key = dense(stored.key, stored.keyPositions);
  const value = dense(stored.value, stored.valuePositions);
  for (const [data, source, positions] of [
    [key, keys, stored.keyPositions],
    [value, values, stored.valuePositions],
  ] as const) {
    let [error, energy] = [0, 0];
    for (const p of positions) {
      const row = (rows[p] as number) * HEADS * DIM;
      const exact = decodeF16(source.subarray(row, row + HEADS * DIM));
      for (const [i, x] of exact.entries()) {
        error += ((data[p * HEADS * DIM + i] as number) - x) ** 2;
        energy += x ** 2;
      }
    }
    // Rows of another token would give about 2.
    if (positions.length > 0) expect(error / energy).toBeLessThan(0.35);
  }
  const result = await cache.attend(0, query, [sequence], { logSumExp: true }).read();
  const oracle = referenceAttention({
    keys: key,
    values: value,
    queries: decodeF16(query.data as Uint16Array),
    tokens: rows.length,
    queryTokens: 1,
    queryHeads: QUERY_HEADS,
    kvHeads: HEADS,
    keyDim: DIM,
    valueDim: DIM,
    scale: 1 / 8,
    ...(slidingWindow === null ? {} : { slidingWindow }),
  });
  expect(maxAbsDifference(result.output.data, oracle.output)).toBeLessThan(LIMIT);
  expect(maxAbsDifference((result.logSumExp as HostTensor).data, oracle.logSumExp)).toBeLessThan(
    LIMIT,
  );
}

const range = (first: number, count: number) => Array.from({ length: count }, (_, i) => first + i);

describe.each(Object.keys(plans))('%s', (name) => {
  const spec = plans[name] as Scheme;

  it('truncate and go on', async () => {
    const { ops } = loadCase<{ ops: { op: string; count?: number; length?: number }[] }, unknown>(
      'cache-truncate-rollback',
    ).input;
    const cache = await open(spec);
    const sequence = cache.createSequence();
    let [rows, next] = [[] as number[], 0];
    for (const { op, count = 0, length = 0 } of ops) {
      if (op === 'append') {
        await append(cache, sequence, next, count, 40);
        rows = [...rows, ...range(next, count)];
        next += count;
      } else {
        cache.truncate(sequence, length);
        rows = rows.slice(0, length);
      }
      await check(cache, sequence, rows);
    }
    expect(next).toBeGreaterThan(400);
  });

  it('fork, reorder and reset', async () => {
    const cache = await open(spec);
    const first = cache.createSequence();
    await append(cache, first, 0, 70);
    const second = cache.fork(first);
    await append(cache, first, 100, 5, 1);
    await append(cache, second, 200, 64);
    await check(cache, first, [...range(0, 70), ...range(100, 5)]);
    await check(cache, second, [...range(0, 70), ...range(200, 64)]);
    cache.reorder([first, second], [1, 1]);
    await append(cache, first, 300, 3);
    await append(cache, second, 310, 33);
    await check(cache, first, [...range(0, 70), ...range(200, 64), ...range(300, 3)]);
    await check(cache, second, [...range(0, 70), ...range(200, 64), ...range(310, 33)]);
    cache.reset(first);
    await append(cache, first, 400, 50);
    await check(cache, first, range(400, 50));
    await check(cache, second, [...range(0, 70), ...range(200, 64), ...range(310, 33)]);
  });

  it.each([1, 50, 300])('a sliding window in steps of %i', async (chunk) => {
    const cache = await open(spec, { slidingWindow: { size: 64, sinks: 4 } });
    const sequence = cache.createSequence();
    await append(cache, sequence, 0, 300, chunk);
    await check(cache, sequence, range(0, 300));
  });
});
