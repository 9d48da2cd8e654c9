// What events say: inputs before a call, the same with what came of it after, in the order of what happens.
import { describe, expect, it } from 'vitest';
import {
  type BackendEvent,
  type Cache,
  createCache,
  createPlan,
  f16Tensor,
  f32Tensor,
  observeBackend,
  type Plan,
  referenceBackend,
} from '../../src/index.js';
import { tokenIdRange } from '../../src/testing/index.js';
import { appendIds, GEOMETRY } from '../support/pointer-cache.js';
import { channelKeys } from '../support/schemes.js';
import {
  base,
  geometry,
  HEADS,
  KEY_DIM,
  schemeOf,
  split,
  VALUE_DIM,
} from '../support/split-heads.js';

interface Observed {
  readonly cache: Cache;
  readonly events: BackendEvent[];
}

async function open(plan: Plan, values = false): Promise<Observed> {
  const events: BackendEvent[] = [];
  const backend = observeBackend(referenceBackend(), {
    values,
    onEvent: (event) => events.push(event),
  });
  const capacity = { tokens: 512, sequences: 4 };
  return { cache: await createCache(plan, backend, { capacity }), events };
}

const line = ({ type, phase }: BackendEvent) => `${type} ${phase}`;
const of = <Type extends BackendEvent['type']>(events: readonly BackendEvent[], type: Type) =>
  events.filter((event): event is BackendEvent & { type: Type } => event.type === type);

describe('a cache from its making to its end', async () => {
  const plan = createPlan(channelKeys(), GEOMETRY);
  const { cache, events } = await open(plan);
  const made = events.splice(0);
  const sequence = cache.createSequence();
  await appendIds(cache, sequence, tokenIdRange(0, 100));
  const appended = events.splice(0);
  const result = cache.attend(0, f32Tensor(new Float32Array(2 * 64), [1, 2, 64]), [sequence]);
  const enqueued = events.splice(0);
  await result.read();
  const read = events.splice(0);
  const snapshot = await cache.snapshot([sequence]);
  const saved = events.splice(0);
  await cache.restore(snapshot);
  const restored = events.splice(0);
  cache.dispose();
  const disposed = events.splice(0);

  it('asks, probes and allocates', () => {
    expect(made.map(line)).toEqual([
      ...['supports start', 'supports end', 'probe start', 'probe end'],
      ...['create-store start', 'create-store end'],
    ]);
    const [start, end] = of(made, 'create-store');
    expect(start).toMatchObject({ backend: 'reference', store: 1, nonFinite: 'error' });
    expect(start?.plan).toMatchObject({
      scheme: 'channel-keys-4bit',
      fingerprint: plan.fingerprint,
      layers: 1,
      units: [
        { layers: [0], heads: [0], queryHeads: 2, kvHeads: 1, keyHeadDim: 64, rotary: false },
      ],
    });
    const { key } = plan.layers[0]!;
    expect(start?.plan.units[0]?.key).toEqual({
      bits: 4,
      transforms: [],
      pageClass: key.class,
      block: {
        tokens: key.layout!.blockTokens,
        tokensPerGroup: key.layout!.tokensPerGroup,
        channelsPerGroup: key.layout!.channelsPerGroup,
      },
      pageBytes: {
        packed: key.layout!.pageBytes,
        window: key.windowPageBytes,
        statistics: key.statisticsPageBytes,
      },
    });
    const allocatedBytes = cacheBytes(plan, start!.pages);
    expect(end).toMatchObject({ phase: 'end', allocatedBytes });
    expect(of(made, 'probe')[1]).toMatchObject({ store: null, answer: { ok: true } });
    expect(of(made, 'supports')[1]).toMatchObject({ answer: { kind: 'native' } });
  });

  it('appends with types, shapes and work, then settles', () => {
    expect(appended.map(line)).toEqual([
      ...['append start', 'append end', 'settle start', 'settle end'],
    ]);
    const [start] = of(appended, 'append');
    const tensor = { type: 'f16', shape: [100, 1, 64], bytes: 12_800, device: null };
    expect(start).toMatchObject({ layer: 0, unit: 0, sequences: 1, tokens: 100 });
    expect([start?.key, start?.value]).toEqual([tensor, tensor]);
    const { key, value } = start!.work;
    for (const { writtenTokens, packedTokens } of [key, value])
      expect(writtenTokens + packedTokens).toBe(100);
    expect(key.packedTokens).toBeGreaterThan(0);
    expect(of(appended, 'settle')[0]?.step).toBe(start?.step);
  });

  it('attends over what lies where, and reads the result of that call', () => {
    expect(enqueued.map(line)).toEqual(['attend start', 'attend end']);
    const [start, end] = of(enqueued, 'attend');
    expect(start).toMatchObject({
      ...{ step: null, layer: 0, sequences: 1, queries: 1, tokens: 100 },
      query: { type: 'f32', shape: [1, 2, 64], bytes: 512 },
      ...{ logSumExp: false, into: false },
    });
    const packed = of(appended, 'append')[0]!.work.key.packedTokens;
    expect(start?.key).toEqual({ packed, window: 100 - packed, input: 0 });
    expect(read.map(line)).toEqual(['read start', 'read end']);
    expect(read[1]).toMatchObject({ attend: end!.call, layer: 0, bytes: 512 });
  });

  it('reads and writes pages, and ends', () => {
    expect(new Set(saved.map(line))).toEqual(new Set(['read-pages start', 'read-pages end']));
    const bytes = (part: readonly BackendEvent[]) =>
      part.reduce((sum, event) => {
        const pages = event.type === 'read-pages' || event.type === 'write-pages';
        return sum + (pages && event.phase === 'end' ? event.bytes : 0);
      }, 0);
    expect(of(restored, 'write-pages').length).toBeGreaterThan(0);
    expect(bytes(of(restored, 'write-pages'))).toBe(bytes(saved));
    expect(disposed.map(line)).toEqual(['dispose start', 'dispose end']);
  });

  it('every call ends once, after its start, with the same inputs and a time', () => {
    const all = [made, appended, enqueued, read, saved, restored, disposed].flat();
    const calls = new Map<number, BackendEvent[]>();
    for (const event of all) calls.set(event.call, [...(calls.get(event.call) ?? []), event]);
    expect([...calls.keys()]).toEqual(Array.from(calls.keys(), (_, i) => i + 1));
    for (const pair of calls.values()) {
      const [start, end] = pair as [BackendEvent, BackendEvent];
      expect(pair).toHaveLength(2);
      const { phase, ...inputs } = start;
      expect(phase).toBe('start');
      expect(end).toMatchObject({ ...inputs, phase: 'end' });
      expect((end as { milliseconds: number }).milliseconds).toBeGreaterThanOrEqual(0);
    }
    // Plain data: it can be sent or written down as it is.
    expect(JSON.parse(JSON.stringify(all))).toEqual(all);
  });
});

describe('plans and layers', () => {
  it('layers that are planned alike are told once; heads that are set apart by layer and unit', async () => {
    const alike = await open(createPlan(schemeOf(base), { ...geometry, layers: 40 }));
    const [start] = of(alike.events, 'create-store');
    expect(start?.plan.units.map(({ layers }) => layers)).toEqual([
      Array.from({ length: 40 }, (_, layer) => layer),
    ]);
    const { cache, events } = await open(createPlan(split, geometry));
    const { units, layers } = of(events, 'create-store')[0]!.plan;
    expect(layers).toBe(2);
    expect(units.map((unit) => [unit.layers, unit.heads])).toEqual([
      [[0], [0]],
      [[0], [1, 3]],
      [[0], [2]],
      [[1], [0, 1, 2, 3]],
    ]);
    const step = cache.step([{ sequence: cache.createSequence(), tokens: 1 }]);
    const key = f16Tensor(new Uint16Array(HEADS * KEY_DIM), [1, HEADS, KEY_DIM]);
    const value = f16Tensor(new Uint16Array(HEADS * VALUE_DIM), [1, HEADS, VALUE_DIM]);
    step.append(1, key, value);
    step.append(0, key, value);
    const told = of(events, 'append').filter(({ phase }) => phase === 'end');
    expect(told.map(({ layer, unit }) => [layer, unit])).toEqual([
      [1, 3],
      [0, 0],
      [0, 1],
      [0, 2],
    ]);
    expect(told[2]?.key.shape).toEqual([1, 2, KEY_DIM]);
    step.abandon();
    expect(events.slice(-2).map(line)).toEqual(['forget start', 'forget end']);
  });

  it('stores are numbered, also those that are made at the same time', async () => {
    const events: BackendEvent[] = [];
    const backend = observeBackend(referenceBackend(), { onEvent: (event) => events.push(event) });
    const plan = createPlan(channelKeys(), GEOMETRY);
    const opened = [1, 2].map(() => createCache(plan, backend, { capacity: { tokens: 64 } }));
    const [first, second] = (await Promise.all(opened)) as [Cache, Cache];
    events.splice(0);
    second.dispose();
    first.dispose();
    expect(events.map(({ store }) => store)).toEqual([2, 2, 1, 1]);
  });
});

describe('values', () => {
  it('are told of host tensors when asked for, and only then', async () => {
    for (const values of [true, false]) {
      const { cache, events } = await open(createPlan(channelKeys(), GEOMETRY), values);
      const sequence = cache.createSequence();
      await appendIds(cache, sequence, [0]);
      const query = new Float32Array(128).fill(2);
      query.set([Number.NaN, Number.POSITIVE_INFINITY, -6]);
      cache.attend(0, f32Tensor(query, [1, 2, 64]), [sequence]);
      const [start] = of(events, 'attend');
      expect(start?.query.values).toEqual(
        values
          ? {
              ...{ minimum: -6, maximum: 2, nonFinite: 2 },
              rootMeanSquare: Math.sqrt((125 * 4 + 36) / 126),
            }
          : undefined,
      );
      expect(of(events, 'append')[0]?.key.values !== undefined).toBe(values);
    }
  });

  it('of nothing, and of nothing finite', async () => {
    const { cache, events } = await open(createPlan(channelKeys(), GEOMETRY), true);
    const sequence = cache.createSequence();
    await appendIds(cache, sequence, [0]);
    cache.attend(0, f32Tensor(new Float32Array(0), [0, 2, 64]), [sequence], { queries: [0] });
    const none = new Float32Array(128).fill(Number.NaN);
    cache.attend(0, f32Tensor(none, [1, 2, 64]), [sequence]);
    const [empty, , wrong] = of(events, 'attend');
    expect(empty?.query).toEqual({ type: 'f32', shape: [0, 2, 64], bytes: 0, device: null });
    expect(wrong?.query.values).toEqual({
      ...{ minimum: null, maximum: null, rootMeanSquare: null, nonFinite: 128 },
    });
  });
});

/** Of the pages that a store was asked for. */
function cacheBytes(
  plan: Plan,
  pages: readonly { packed: number; window: number; statistics: number }[],
): number {
  return plan.layers
    .flatMap(({ key, value }) => [key, value])
    .reduce((sum, tensor) => {
      const { packed, window, statistics } = pages[tensor.class]!;
      const packedBytes = packed * (tensor.layout?.pageBytes ?? 0);
      return (
        sum +
        packedBytes +
        window * tensor.windowPageBytes +
        statistics * tensor.statisticsPageBytes
      );
    }, 0);
}
