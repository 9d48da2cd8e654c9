// Keys cached before the rotary embedding: attention against a float64 oracle of this file, which never rotates a key but
// uses that a dot product of rotated vectors depends on their distance.
import { describe, expect, test } from 'vitest';
import {
  type Cache,
  createCache,
  createPlan,
  decodeF16,
  f16Tensor,
  f32Tensor,
  type Geometry,
  type QuantizedTensorScheme,
  type RotaryEmbedding,
  referenceBackend,
  type Scheme,
  type Sequence,
  type Transform,
} from '../../src/index.js';
import {
  asymmetric,
  inlineCalibration,
  inlineScheme,
  lcgNormal,
  maxAbsDifference,
  nmse,
} from '../../src/testing/index.js';

const HEADS = 2;
const QUERY_HEADS = 4;
const DIM = 16;
const GEOMETRY: Geometry = {
  layers: 1,
  queryHeads: QUERY_HEADS,
  kvHeads: HEADS,
  keyHeadDim: DIM,
  valueHeadDim: DIM,
};
const HALVES = { pairs: 'halves', base: 100 } as const;

type Layout = NonNullable<Geometry['rotary']>;

function schemeOf(
  transforms: readonly Transform[] = [],
  change: Partial<QuantizedTensorScheme> = {},
): Scheme {
  const groups = asymmetric(8, 'tokens', 8, { recent: 8, flush: 8 });
  return inlineScheme({
    key: { ...groups, ...change, transforms, stage: 'pre-rope' },
    value: { bits: 16 },
    sinks: 3,
  });
}

function planOf(scheme: Scheme, rotary: Layout, change: Partial<Geometry> = {}) {
  const geometry = { ...GEOMETRY, rotary, ...change };
  const calibration = inlineCalibration(scheme, geometry);
  return createPlan(scheme, geometry, {
    blockTokens: 32,
    ...(calibration === undefined ? {} : { calibration }),
  });
}

/** f16 bits `[tokens, HEADS, DIM]`; some channels are shifted, so that means and rotations matter. */
const rows = (tokens: number, seed: number) =>
  lcgNormal({
    seed,
    shape: [tokens, HEADS, DIM],
    dtype: 'f16',
    channelOps: [{ channel: 5, mul: 1, add: 2 }],
  });

class Run {
  readonly cache: Cache;
  readonly key: Uint16Array;
  readonly value: Uint16Array;

  private constructor(cache: Cache, tokens: number) {
    this.cache = cache;
    this.key = rows(tokens, 1);
    this.value = rows(tokens, 2);
  }

  static async open(plan: Parameters<typeof createCache>[0], tokens: number): Promise<Run> {
    const options = { capacity: { tokens: 8 * tokens, sequences: 4 } };
    return new Run(await createCache(plan, referenceBackend(), options), tokens);
  }

  /** Appends the rows from the length of the sequence to `end`. */
  async grow(sequence: Sequence, end: number): Promise<void> {
    const tokens = end - sequence.length;
    const part = (bits: Uint16Array) =>
      f16Tensor(bits.slice(sequence.length * HEADS * DIM, end * HEADS * DIM), [tokens, HEADS, DIM]);
    const layers = this.cache.plan.layers.map(() => ({
      key: part(this.key),
      value: part(this.value),
    }));
    await this.cache.append([{ sequence, tokens }], layers);
  }
}

/** Channels of a pair. */
function channelsOf({ pairs, frequencies }: RotaryEmbedding, pair: number): [number, number] {
  return pairs === 'halves' ? [pair, pair + frequencies.length] : [2 * pair, 2 * pair + 1];
}

/** Queries before their embedding, drawn; and the same rotated to the last positions of a sequence, as a model hands them over. */
function queriesOf(count: number, length: number, embedding: RotaryEmbedding) {
  const plain = Float64Array.from(
    lcgNormal({ seed: 77, shape: [count, QUERY_HEADS, DIM], dtype: 'f32', std: 1.5 }),
  );
  const rotated = Float32Array.from(plain);
  for (let row = 0; row < count * QUERY_HEADS; row++) {
    const position = length - count + Math.floor(row / QUERY_HEADS);
    for (const [pair, frequency] of embedding.frequencies.entries()) {
      const [x, y] = channelsOf(embedding, pair).map((c) => row * DIM + c) as [number, number];
      const [cosine, sine] = [Math.cos(position * frequency), Math.sin(position * frequency)];
      rotated[x] = plain[x]! * cosine - plain[y]! * sine;
      rotated[y] = plain[x]! * sine + plain[y]! * cosine;
    }
  }
  return { plain, rotated: f32Tensor(rotated, [count, QUERY_HEADS, DIM]) };
}

/** Attention of queries and keys before their embedding. A window's `size` counts the newest positions. */
function oracle(
  queries: Float64Array,
  keys: ArrayLike<number>,
  values: ArrayLike<number>,
  length: number,
  embedding: RotaryEmbedding,
  window: { size: number; sinks: number } = { size: length, sinks: 0 },
): Float64Array {
  const count = queries.length / (QUERY_HEADS * DIM);
  const output = new Float64Array(queries.length);
  for (let row = 0; row < count * QUERY_HEADS; row++) {
    const position = length - count + Math.floor(row / QUERY_HEADS);
    const head = Math.floor((row % QUERY_HEADS) / (QUERY_HEADS / HEADS));
    const weights: number[] = [];
    for (let token = 0; token <= position; token++) {
      const visible = token < window.sinks || token > position - window.size;
      const at = (token * HEADS + head) * DIM;
      const q = (c: number) => queries[row * DIM + c]!;
      const k = (c: number) => keys[at + c]!;
      let dot = 0;
      for (let c = 2 * embedding.frequencies.length; c < DIM; c++) dot += q(c) * k(c);
      for (const [pair, frequency] of embedding.frequencies.entries()) {
        const [x, y] = channelsOf(embedding, pair);
        const angle = (position - token) * frequency;
        dot += (q(x) * k(x) + q(y) * k(y)) * Math.cos(angle);
        dot -= (q(y) * k(x) - q(x) * k(y)) * Math.sin(angle);
      }
      weights.push(visible ? Math.exp(dot / Math.sqrt(DIM)) : 0);
    }
    const total = weights.reduce((a, b) => a + b, 0);
    for (const [token, weight] of weights.entries()) {
      for (let c = 0; c < DIM; c++)
        output[row * DIM + c]! += (weight / total) * values[(token * HEADS + head) * DIM + c]!;
    }
  }
  return output;
}

/** Compares committed attention of a sequence with the oracle over what the cache holds; returns the output. */
async function compare(cache: Cache, sequence: Sequence, count = 3, layer = 0) {
  const { rotary, slidingWindow } = cache.plan.layers[layer]!.geometry;
  const { length } = sequence;
  const { plain, rotated } = queriesOf(count, length, rotary!);
  const { output } = await cache.attend(layer, rotated, [sequence], { queries: [count] }).read();
  const held = await cache.materialize(sequence, layer);
  // Evicted positions are missing from what is held; nothing sees them.
  const all = (positions: readonly number[], data: ArrayLike<number>) => {
    const full = new Float64Array(length * HEADS * DIM);
    for (const [i, position] of positions.entries()) {
      for (let c = 0; c < HEADS * DIM; c++)
        full[position * HEADS * DIM + c] = data[i * HEADS * DIM + c]!;
    }
    return full;
  };
  const keys = all(held.keyPositions, held.key.data);
  const values = all(held.valuePositions, held.value.data);
  const expected = oracle(plain, keys, values, length, rotary!, slidingWindow ?? undefined);
  expect(maxAbsDifference(output.data, expected)).toBeLessThan(3e-6);
  return { output: output.data, plain, values };
}

const MEASURED = { scope: 'sequence', statisticsTokens: 12 } as const;
const CHAINS: Record<string, readonly Transform[]> = {
  'no transforms': [],
  mean: [{ kind: 'channelMean', ...MEASURED }],
  'signed rotation': [{ kind: 'hadamard', seed: 3 }],
  'mean, order, scale, rotation': [
    { kind: 'channelMean', ...MEASURED },
    { kind: 'channelOrder', scope: 'model' },
    { kind: 'tensorScale', ...MEASURED, largest: 6 },
    { kind: 'hadamard' },
  ],
};
const LAYOUTS: Record<string, Layout> = {
  halves: HALVES,
  'adjacent pairs': { pairs: 'adjacent', base: 100 },
  'part in halves': { pairs: 'halves', dimensions: 8, base: 100 },
  'part in adjacent pairs': { pairs: 'adjacent', dimensions: 6, base: 100 },
  'frequencies of their own': { pairs: 'halves', frequencies: [1.1, 0.4, 0.05] },
};

describe.each(Object.entries(LAYOUTS))('%s', (_layout, rotary) => {
  test.each(Object.entries(CHAINS))('%s', async (_name, transforms) => {
    const run = await Run.open(planOf(schemeOf(transforms), rotary), 120);
    const { cache } = run;
    const sequence = cache.createSequence();
    await run.grow(sequence, 70);
    await compare(cache, sequence);
    while (sequence.length < 100) await run.grow(sequence, sequence.length + 1);
    const { output, plain, values } = await compare(cache, sequence);
    const packed = (await cache.stats()).sequences[0]?.classes.map((entry) => entry.packed);
    expect(packed).toContain(88);
    // Close to attention over the originals, and far from attention that does not rotate.
    const { rotary: embedding } = cache.plan.layers[0]!.geometry;
    const original = decodeF16(run.key.subarray(0, values.length));
    const exact = oracle(plain, original, values, 100, embedding!);
    expect(nmse(output, exact)).toBeLessThan(1e-3);
    const still = { ...embedding!, frequencies: embedding!.frequencies.map(() => 0) };
    expect(nmse(output, oracle(plain, original, values, 100, still))).toBeGreaterThan(0.05);
  });
});

test('inside a step the new keys are rotated too, packed before or after attention', async () => {
  for (const packing of ['before-attention', 'after-attention'] as const) {
    const scheme = { ...schemeOf([], { window: { recent: 0, flush: 8 } }), packing };
    const run = await Run.open(planOf(scheme, HALVES), 60);
    const { cache } = run;
    const sequence = cache.createSequence();
    await run.grow(sequence, 40);
    const { rotary } = cache.plan.layers[0]!.geometry;
    const { plain, rotated } = queriesOf(16, 56, rotary!);
    const width = HEADS * DIM;
    const part = (bits: Uint16Array) =>
      f16Tensor(bits.slice(40 * width, 56 * width), [16, HEADS, DIM]);
    const before = await cache.materialize(sequence, 0);
    const step = cache.step([{ sequence, tokens: 16 }]);
    step.append(0, part(run.key), part(run.value));
    const { output } = await step.attend(0, rotated).read();
    await step.commit();
    const after = await cache.materialize(sequence, 0);
    const keys = Float64Array.from(after.key.data);
    if (packing === 'after-attention') {
      keys.set(decodeF16(run.key.subarray(0, keys.length)));
      keys.set(before.key.data);
    }
    const expected = oracle(plain, keys, after.value.data, 56, rotary!);
    expect(maxAbsDifference(output.data, expected)).toBeLessThan(3e-6);
  }
});

test('behind a sliding window positions stay those of the sequence', async () => {
  const change = { slidingWindow: { size: 30, sinks: 2 } };
  const plan = planOf(schemeOf(CHAINS.mean), HALVES, change);
  const run = await Run.open(plan, 220);
  const sequence = run.cache.createSequence();
  for (const end of [50, 51, 120, 121, 200]) {
    await run.grow(sequence, end);
    await compare(run.cache, sequence, 1);
  }
  const { keyPositions } = await run.cache.materialize(sequence, 0);
  expect(keyPositions.length).toBeLessThan(120);
});

test('forks, truncation and snapshots keep positions', async () => {
  const plan = planOf(schemeOf(CHAINS['mean, order, scale, rotation']), HALVES);
  const run = await Run.open(plan, 120);
  const { cache } = run;
  const sequence = cache.createSequence();
  await run.grow(sequence, 90);
  const before = await compare(cache, sequence);
  const fork = cache.fork(sequence);
  await run.grow(fork, 101);
  await compare(cache, fork);
  expect((await compare(cache, sequence)).output).toEqual(before.output);

  cache.truncate(fork, 61);
  await compare(cache, fork);
  await run.grow(fork, 77);
  await compare(cache, fork);

  const [restored] = await cache.restore(await cache.snapshot([sequence]));
  expect((await compare(cache, restored!)).output).toEqual(before.output);
});

test('layers have their own embedding; those that stay f16 are appended rotated', async () => {
  const scheme: Scheme = { ...schemeOf(), overrides: [{ layers: [2], key: { bits: 16 } }] };
  const plan = planOf(scheme, HALVES, {
    layers: 3,
    layerOverrides: [{ layers: [1], rotary: { pairs: 'adjacent', dimensions: 4, base: 7 } }],
  });
  expect(plan.layers.map(({ geometry }) => geometry.rotary?.pairs ?? null)).toEqual([
    'halves',
    'adjacent',
    null,
  ]);
  const run = await Run.open(plan, 60);
  const sequence = run.cache.createSequence();
  await run.grow(sequence, 50);
  await compare(run.cache, sequence, 3, 0);
  await compare(run.cache, sequence, 3, 1);
  const query = lcgNormal({ seed: 5, shape: [1, QUERY_HEADS, DIM], dtype: 'f32' });
  const tensor = f32Tensor(query, [1, QUERY_HEADS, DIM]);
  const { output } = await run.cache.attend(2, tensor, [sequence]).read();
  const originals = [run.key, run.value].map((bits) =>
    decodeF16(bits.subarray(0, 50 * HEADS * DIM)),
  );
  const none = { pairs: 'halves', frequencies: [] } as const;
  const expected = oracle(Float64Array.from(query), originals[0]!, originals[1]!, 50, none);
  expect(maxAbsDifference(output.data, expected)).toBeLessThan(3e-6);
});

test('windows hold keys as they were appended, and materialize returns them so', async () => {
  const run = await Run.open(planOf(schemeOf(), HALVES), 60);
  const sequence = run.cache.createSequence();
  await run.grow(sequence, 51);
  const { key } = await run.cache.materialize(sequence, 0);
  const original = decodeF16(run.key.subarray(0, key.data.length));
  const width = HEADS * DIM;
  // Sinks, then 40 packed tokens, then the newest 8.
  expect(key.data.slice(0, 3 * width)).toEqual(original.slice(0, 3 * width));
  expect(key.data.slice(43 * width)).toEqual(original.slice(43 * width));
  expect(nmse(key.data, original)).toBeLessThan(1e-4);
  expect(nmse(key.data, original)).toBeGreaterThan(0);
});

test('a plan of such keys without an embedding is refused, layer by layer', () => {
  const refused = (change: Partial<Geometry>, layer: number) =>
    expect(() => createPlan(schemeOf(), { ...GEOMETRY, ...change })).toThrow(
      expect.objectContaining({
        code: 'GEOMETRY_INVALID',
        where: { layer, field: 'rotary' },
        next: expect.stringContaining('rotary'),
      }),
    );
  refused({}, 0);
  refused({ layers: 2, rotary: HALVES, layerOverrides: [{ layers: [1], rotary: null }] }, 1);
});

test('an embedding that no key needs changes no plan', () => {
  const scheme = inlineScheme({ key: asymmetric(4, 'tokens', 8), value: { bits: 16 } });
  const plain = createPlan(scheme, GEOMETRY);
  const rotated = createPlan(scheme, { ...GEOMETRY, rotary: HALVES });
  expect(rotated).toEqual(plain);
  expect(plain.layers[0]!.geometry.rotary).toBeNull();
  const before = (rotary: Layout) => planOf(schemeOf(), rotary).fingerprint;
  expect(before(HALVES)).not.toBe(before({ ...HALVES, base: 101 }));
  expect(before(HALVES)).not.toBe(before({ ...HALVES, pairs: 'adjacent' }));
});
