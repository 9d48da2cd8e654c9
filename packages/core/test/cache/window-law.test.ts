// The window law: what is f16, what is packed and when, whatever the split into steps; and what attention sees meanwhile.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Cache,
  createCache,
  createPlan,
  decodeF16,
  f16Tensor,
  type HostTensor,
  type PageClass,
  referenceBackend,
  type Scheme,
  type Sequence,
  windowCounts,
} from '../../src/index.js';
import { lcgNormal, maxAbsDifference, referenceAttention } from '../../src/testing/index.js';
import { firstDifference, openCache } from '../support/pointer-cache.js';
import { channelKeys, channelScale, scheme, tokenKeys } from '../support/schemes.js';

const DIM = 16;
const LONGEST = 240;
const data = lcgNormal({ seed: 5, shape: [LONGEST, 1, DIM], dtype: 'f16' });
const exact = decodeF16(data);
const geometry = {
  layers: 1,
  queryHeads: 1,
  kvHeads: 1,
  keyHeadDim: DIM,
  valueHeadDim: DIM,
};

const rows = (first: number, end: number) =>
  f16Tensor(data.slice(first * DIM, end * DIM), [end - first, 1, DIM]);

async function append(cache: Cache, sequence: Sequence, count: number): Promise<void> {
  const input = rows(sequence.length, sequence.length + count);
  await cache.append([{ sequence, tokens: count }], [{ key: input, value: input }]);
}

const tensorScheme = fc.record({
  along: fc.constantFrom('tokens', 'channels', 'vector'),
  recent: fc.integer({ min: 0, max: 70 }),
  flushes: fc.integer({ min: 1, max: 5 }),
});
const rule = fc.record({
  key: tensorScheme,
  value: tensorScheme,
  sinks: fc.integer({ min: 0, max: 40 }),
  rollback: fc.integer({ min: 0, max: 20 }),
  statisticsTokens: fc.option(fc.integer({ min: 1, max: 100 }), { nil: null }),
  packing: fc.constantFrom('before-attention', 'after-attention'),
  chunks: fc.array(fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 60 })), {
    minLength: 1,
    maxLength: 30,
  }),
});
type Rule = typeof rule extends fc.Arbitrary<infer T> ? T : never;

function schemeOf({ key, value, sinks, packing, statisticsTokens }: Rule): Scheme {
  const of = (t: Rule['key']) => ({
    bits: 2 as const,
    along: t.along as 'tokens',
    size: 8,
    recent: t.recent,
    flush: t.flushes * (t.along === 'tokens' ? 8 : 1),
  });
  return scheme({
    sinks,
    packing: packing as Scheme['packing'],
    key:
      statisticsTokens === null
        ? of(key)
        : { ...of(key), transforms: [channelScale(statisticsTokens)] },
    value: of(value),
  });
}

it('holds after every step, and stored bytes do not depend on the steps', async () => {
  let packedBlocks = 0;
  await fc.assert(
    fc.asyncProperty(rule, async (choice) => {
      const plan = createPlan(schemeOf(choice), geometry);
      const open = () =>
        createCache(plan, referenceBackend(), {
          capacity: { tokens: LONGEST },
          rollback: choice.rollback,
        });
      const cache = await open();
      const sequence = cache.createSequence();
      for (const chunk of choice.chunks) {
        if (sequence.length + chunk > LONGEST) break;
        await append(cache, sequence, chunk);
        await checkWindow(cache, sequence, choice);
      }
      const once = await open();
      const whole = once.createSequence();
      await append(once, whole, sequence.length);
      await checkWindow(once, whole, choice);
      for (const side of ['key', 'value'] as const) {
        const [a, b] = [
          await cache.exportBlocks(sequence, 0, side),
          await once.exportBlocks(whole, 0, side),
        ];
        packedBlocks += a.length;
        expect(a.map(({ position, validTokens }) => [position, validTokens])).toEqual(
          b.map(({ position, validTokens }) => [position, validTokens]),
        );
        for (const [i, { bytes }] of a.entries())
          expect(firstDifference(bytes, b[i]?.bytes ?? [])).toBe(-1);
      }
      const [a, b] = [await cache.materialize(sequence, 0), await once.materialize(whole, 0)];
      expect(firstDifference(a.key.data, b.key.data)).toBe(-1);
      expect(firstDifference(a.value.data, b.value.data)).toBe(-1);
      const query = rows(0, 1);
      const outputs = [
        await cache.attend(0, query, [sequence]).read(),
        await once.attend(0, query, [whole]).read(),
      ].map(({ output }) => output.data);
      expect(maxAbsDifference(outputs[0] as Float32Array, outputs[1] as Float32Array)).toBeLessThan(
        1e-6,
      );
    }),
    { numRuns: 150, interruptAfterTimeLimit: 6000, verbose: 1 },
  );
  expect(packedBlocks).toBeGreaterThan(20);
}, 30_000);

async function checkWindow(cache: Cache, sequence: Sequence, { rollback }: Rule): Promise<void> {
  const { length } = sequence;
  const [held] = (await cache.stats()).sequences;
  const stored = await cache.materialize(sequence, 0);
  for (const [index, pageClass] of cache.plan.classes.entries()) {
    const counts = windowCounts(pageClass, length, rollback);
    expect(held?.classes[index]).toMatchObject({ ...counts, recentShortfall: 0 });
    expect(counts).toEqual(countByHand(pageClass, length, rollback));
    const values = stored[pageClass.tensor].data;
    const same = (first: number, end: number) =>
      firstDifference(
        values.subarray(first * DIM, end * DIM),
        exact.subarray(first * DIM, end * DIM),
      ) === -1;
    const recent = Math.min(pageClass.recent + rollback, length);
    expect(same(0, counts.sinks)).toBe(true);
    expect(same(length - recent, length)).toBe(true);
    expect(same(counts.sinks + counts.packed, length)).toBe(true);
    if (counts.packed > 0) expect(same(counts.sinks, counts.sinks + counts.packed)).toBe(false);
  }
}

/** The law one token at a time, as scheme-spec states it. */
function countByHand(rule: PageClass, length: number, rollback: number) {
  let [sinks, packed, tail] = [0, 0, 0];
  for (let n = 1; n <= length; n++) {
    if (sinks < rule.sinks) sinks++;
    else tail++;
    if (n < rule.sinks + rule.statisticsTokens) continue;
    while (tail >= rule.recent + rollback + rule.flush) {
      tail -= rule.flush;
      packed += rule.flush;
    }
  }
  return { sinks, packed, tail };
}

describe('published state machines', () => {
  const classOf = (spec: Scheme, side: 0 | 1) =>
    createPlan(spec, { ...geometry, keyHeadDim: 32, valueHeadDim: 32 }).classes[side] as PageClass;

  it('keys that flush 128 at once, values with a residual of 128', () => {
    const spec = scheme({
      key: { along: 'tokens', flush: 128 },
      value: { recent: 128 },
    });
    const counts = (length: number) =>
      [classOf(spec, 0), classOf(spec, 1)].map((rule) => {
        const { packed, tail } = windowCounts(rule, length);
        return [packed, tail];
      });
    expect(counts(300)).toEqual([
      [256, 44],
      [172, 128],
    ]);
    expect(counts(384)).toEqual([
      [384, 0],
      [256, 128],
    ]);
    expect(counts(60)).toEqual([
      [0, 60],
      [0, 60],
    ]);
    expect(counts(128)).toEqual([
      [128, 0],
      [0, 128],
    ]);
    expect(counts(129)).toEqual([
      [128, 1],
      [1, 128],
    ]);
    expect(counts(256)[0]).toEqual([256, 0]);
  });

  it('32 sinks, a recent window of 96', () => {
    const values = classOf(scheme({ sinks: 32, value: { along: 'tokens', recent: 96 } }), 1);
    expect(windowCounts(values, 1000)).toEqual({ sinks: 32, packed: 864, tail: 104 });
    const tails = Array.from({ length: 500 }, (_, i) => windowCounts(values, 500 + i).tail);
    expect([Math.min(...tails), Math.max(...tails)]).toEqual([96, 127]);
    const first = (flush: number) => {
      const keys = classOf(scheme({ sinks: 32, key: { recent: 96, flush } }), 0);
      let step = 0;
      while (windowCounts(keys, 60 + step).packed === 0) step++;
      return step;
    };
    expect(first(1)).toBe(69);
    expect(first(32)).toBe(100);
  });
});

describe('the attention of the step that fills a block', () => {
  const FILL = 32;
  const big = { keyHeadDim: 64, valueHeadDim: 64, queryHeads: 1, kvHeads: 1 };
  const wide = lcgNormal({ seed: 9, shape: [FILL, 1, 64], dtype: 'f16' });
  const part = (first: number, end: number) =>
    f16Tensor(wide.slice(first * 64, end * 64), [end - first, 1, 64]);
  const query = f16Tensor(
    lcgNormal({ seed: 10, shape: [1, 1, 64], dtype: 'f16', std: 2 }),
    [1, 1, 64],
  );

  const oracle = (key: ArrayLike<number>, value: ArrayLike<number>) =>
    referenceAttention({
      keys: key,
      values: value,
      queries: decodeF16(query.data as Uint16Array),
      tokens: FILL,
      queryTokens: 1,
      queryHeads: 1,
      kvHeads: 1,
      keyDim: 64,
      valueDim: 64,
      scale: 1 / 8,
    }).output;

  async function fill(spec: Scheme, chunk: number) {
    const cache = await openCache(spec, big);
    const sequence = cache.createSequence();
    let inside: HostTensor | undefined;
    while (sequence.length < FILL) {
      const input = part(sequence.length, sequence.length + chunk);
      const step = cache.step([{ sequence, tokens: chunk }]);
      step.append(0, input, input);
      const result = await step.attend(0, query, { queries: [1] }).read();
      await step.commit();
      inside = result.output;
    }
    const after = (await cache.attend(0, query, [sequence]).read()).output;
    const stored = await cache.materialize(sequence, 0);
    return {
      inside: (inside as HostTensor).data,
      after: after.data,
      packed: oracle(stored.key.data, stored.value.data),
    };
  }
  const plain = oracle(decodeF16(wide), decodeF16(wide));
  const LIMIT = 1e-6;

  const both = (packing: Scheme['packing']) =>
    scheme({
      packing,
      key: { bits: 2, along: 'tokens' },
      value: { bits: 2, along: 'tokens' },
    });

  it.each([1, 4, 32])(
    'packing after: f16 in the step, packed from the next on (steps of %i)',
    async (chunk) => {
      const { inside, after, packed } = await fill(both('after-attention'), chunk);
      expect(maxAbsDifference(inside, plain)).toBeLessThan(LIMIT);
      expect(maxAbsDifference(after, packed)).toBeLessThan(LIMIT);
      expect(maxAbsDifference(plain, packed)).toBeGreaterThan(1e-2);
    },
  );

  it.each([1, 4, 32])('packing before: packed in the step already (steps of %i)', async (chunk) => {
    const { inside, after, packed } = await fill(both('before-attention'), chunk);
    expect(maxAbsDifference(inside, packed)).toBeLessThan(LIMIT);
    expect(maxAbsDifference(after, packed)).toBeLessThan(LIMIT);
    expect(maxAbsDifference(inside, plain)).toBeGreaterThan(1e-2);
  });

  it('a longer step that packs after sees more in f16; what is stored is the same', async () => {
    const values = scheme({
      key: { bits: 2, along: 'tokens', flush: 32 },
      value: { bits: 2, flush: 1 },
    });
    const [long, short] = [await fill(values, 32), await fill(values, 1)];
    expect(maxAbsDifference(long.inside, plain)).toBeLessThan(LIMIT);
    expect(maxAbsDifference(short.inside, plain)).toBeGreaterThan(1e-3);
    expect(maxAbsDifference(long.after, short.after)).toBeLessThan(LIMIT);
  });
});

it('attention of each query position in a chunk over a packed past is causal', async () => {
  for (const spec of [tokenKeys({ bits: 2 }), channelKeys({ bits: 3, codes: 'full' })]) {
    const cache = await openCache(spec, { keyHeadDim: 32, valueHeadDim: 32, queryHeads: 1 });
    const wide = lcgNormal({ seed: 12, shape: [100, 1, 32], dtype: 'f16' });
    const part = (first: number, end: number) =>
      f16Tensor(wide.slice(first * 32, end * 32), [end - first, 1, 32]);
    const sequence = cache.createSequence();
    const past = part(0, 70);
    await cache.append([{ sequence, tokens: 70 }], [{ key: past, value: past }]);
    const outputs: Float32Array[] = [];
    for (const count of [30, 1]) {
      const step = cache.step([{ sequence, tokens: count }]);
      step.append(0, part(70, 70 + count), part(70, 70 + count));
      const { output } = await step.attend(0, part(0, count)).read();
      outputs.push(output.data as Float32Array);
      step.abandon();
    }
    // Whatever comes later in the chunk, the first query sees the same.
    const [long, short] = outputs as [Float32Array, Float32Array];
    if (spec.packing === 'after-attention')
      expect(maxAbsDifference(long.subarray(0, 32), short)).toBeLessThan(1e-6);
    expect(long.length).toBe(30 * 32);
  }
});

it('a cut into packed blocks is reported as a shortfall until new tokens refill the window', async () => {
  const cache = await openCache(scheme({ key: { recent: 16, size: 16 }, value: { bits: 16 } }), {
    keyHeadDim: DIM,
    valueHeadDim: DIM,
    queryHeads: 1,
  });
  const sequence = cache.createSequence();
  await append(cache, sequence, 100);
  const counts = async () => (await cache.stats()).sequences[0]?.classes[0];
  expect(await counts()).toMatchObject({ packed: 84, tail: 16, recentShortfall: 0 });
  cache.truncate(sequence, 90);
  expect(await counts()).toMatchObject({ packed: 84, tail: 6, recentShortfall: 10 });
  cache.truncate(sequence, 50);
  expect(await counts()).toMatchObject({ packed: 50, tail: 0, recentShortfall: 16 });
  await append(cache, sequence, 9);
  expect(await counts()).toMatchObject({ packed: 50, tail: 9, recentShortfall: 7 });
  await append(cache, sequence, 9);
  expect(await counts()).toMatchObject({ packed: 52, tail: 16, recentShortfall: 0 });
});

it('statistics wait for no more tokens than a sliding window holds', async () => {
  const spec = scheme({ key: { size: 16, transforms: [channelScale(40)] }, value: { bits: 16 } });
  const cache = await openCache(spec, {
    keyHeadDim: DIM,
    valueHeadDim: DIM,
    queryHeads: 1,
    slidingWindow: { size: 20, sinks: 0 },
  });
  const sequence = cache.createSequence();
  const counts = async () => (await cache.stats()).sequences[0]?.classes[0];
  await append(cache, sequence, 19);
  expect(await counts()).toMatchObject({ packed: 0, tail: 19 });
  await append(cache, sequence, 1);
  expect(await counts()).toMatchObject({ packed: 20, tail: 0 });
});

it('a sliding window can be cut back to exactly what it still holds', async () => {
  const f16 = scheme({ key: { bits: 16 }, value: { bits: 16 } });
  const open = async () => {
    const cache = await openCache(f16, {
      keyHeadDim: DIM,
      valueHeadDim: DIM,
      queryHeads: 1,
      slidingWindow: { size: 40, sinks: 0 },
    });
    const sequence = cache.createSequence();
    for (let i = 0; i < 210; i++) await append(cache, sequence, 1);
    return { cache, sequence };
  };
  const { cache, sequence } = await open();
  // Pages of 32 go whole: 170 - 10 positions are gone.
  expect((await cache.materialize(sequence, 0)).keyPositions[0]).toBe(160);
  expect(() => cache.truncate(sequence, 199)).toThrow(
    expect.objectContaining({ code: 'TRUNCATE_INVALID', valid: '0 to 0, or 200 to 210' }),
  );
  cache.truncate(sequence, 200);
  const query = rows(0, 1);
  const { output } = await cache.attend(0, query, [sequence]).read();
  const oracle = referenceAttention({
    keys: exact.subarray(0, 200 * DIM),
    values: exact.subarray(0, 200 * DIM),
    queries: exact.subarray(0, DIM),
    tokens: 200,
    queryTokens: 1,
    queryHeads: 1,
    kvHeads: 1,
    keyDim: DIM,
    valueDim: DIM,
    scale: 1 / 4,
    slidingWindow: { size: 40, sinks: 0 },
  });
  expect(maxAbsDifference(output.data, oracle.output)).toBeLessThan(1e-6);
  // One query further back would see position 159.
  expect(() => cache.attend(0, rows(0, 2), [sequence], { queries: [2] })).toThrow(
    expect.objectContaining({ code: 'OPTION_INVALID', valid: 'at most 1 queries' }),
  );
  expect((await open()).sequence.length).toBe(210);
});
