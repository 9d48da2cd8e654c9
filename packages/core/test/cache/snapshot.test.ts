// Snapshots: restored sequences are equal and go on equally; damaged or foreign containers are refused and take nothing.
import { describe, expect, it } from 'vitest';
import {
  type Cache,
  createCache,
  type Geometry,
  LowbitKvError,
  parseSnapshotHeader,
  referenceBackend,
  type Scheme,
  type Sequence,
  snapshotSections,
} from '../../src/index.js';
import { createDraws, tokenIdRange } from '../../src/testing/index.js';
import { checksum } from '../support/checksum.js';
import { hex, observe } from '../support/observe.js';
import { appendIds, expectContents, openCache } from '../support/pointer-cache.js';
import { channelKeys, channelScale, scheme, tokenKeys } from '../support/schemes.js';

const plans: Record<string, { scheme: Scheme; geometry?: Partial<Geometry>; rollback?: number }> = {
  'token keys': { scheme: tokenKeys({ bits: 2, residual: 8, sinks: 3 }) },
  'channel keys': { scheme: channelKeys({ bits: 3, codes: 'fullSigned' }), rollback: 5 },
  'channel scale': {
    scheme: scheme({
      key: { bits: 4, transforms: [channelScale(40)] },
      value: { bits: 4, along: 'tokens', recent: 4 },
    }),
  },
  'sliding window': {
    scheme: tokenKeys({ bits: 4, sinks: 2 }),
    geometry: { slidingWindow: { size: 40, sinks: 2 } },
  },
  f16: { scheme: scheme({ key: { bits: 16 }, value: { bits: 16 } }) },
};

const open = (name: string): Promise<Cache> => {
  const { scheme: spec, geometry, rollback = 0 } = plans[name] as (typeof plans)[string];
  return openCache(spec, { layers: 2, ...geometry }, { rollback });
};

/** A sequence, a fork of it that went on, one that was cut inside a block, and an empty one. */
async function filled(cache: Cache): Promise<Sequence[]> {
  const first = cache.createSequence();
  await appendIds(cache, first, tokenIdRange(0, 150), { chunk: 50 });
  const fork = cache.fork(first);
  await appendIds(cache, fork, tokenIdRange(500, 2));
  const cut = cache.fork(first);
  cache.truncate(cut, 145);
  return [first, fork, cut, cache.createSequence()];
}

async function liveBytes(cache: Cache): Promise<number> {
  return (await cache.stats()).bytes.live;
}

describe.each(Object.keys(plans))('%s', (name) => {
  it('restores to equal sequences that go on equally', async () => {
    const cache = await open(name);
    const sequences = await filled(cache);
    const bytes = await cache.snapshot(sequences);
    const fresh = await open(name);
    // A used pool: page numbers differ, and old contents lie in the pages.
    const earlier = fresh.createSequence();
    await appendIds(fresh, earlier, tokenIdRange(3000, 77));
    fresh.disposeSequence(earlier);
    const restored = await fresh.restore(bytes);
    expect(restored.map(({ length }) => length)).toEqual(sequences.map(({ length }) => length));
    const seen = async (from: Cache, list: readonly Sequence[]) =>
      (await observe(from, list)).replaceAll(/"id":\d+/g, '"id":0');
    expect(await seen(fresh, restored)).toBe(await seen(cache, sequences));

    for (const [i, sequence] of sequences.entries()) {
      await appendIds(cache, sequence, tokenIdRange(700 + 100 * i, 45), { chunk: 9 });
      await appendIds(fresh, restored[i] as Sequence, tokenIdRange(700 + 100 * i, 45), {
        chunk: 9,
      });
    }
    expect(await seen(fresh, restored)).toBe(await seen(cache, sequences));
    for (const sequence of restored) fresh.disposeSequence(sequence);
    expect(await liveBytes(fresh)).toBe(0);
  });

  it('keeps shared pages shared', async () => {
    const cache = await open(name);
    const sequences = await filled(cache);
    const live = await liveBytes(cache);
    const alone = await open(name);
    const parts: Uint8Array[] = [];
    for (const sequence of sequences) parts.push(await cache.snapshot([sequence]));
    const together = await cache.snapshot(sequences);
    const separate = parts.reduce((sum, part) => sum + part.length, 0);
    expect(together.length).toBeLessThan(separate);
    const restored = await alone.restore(together);
    expect(await liveBytes(alone)).toBe(live);
    // Freeing one leaves the others whole; freeing all gives everything back.
    const before = await observe(cache, sequences.slice(1));
    alone.disposeSequence(restored[0] as Sequence);
    const after = await observe(alone, restored.slice(1));
    expect(after.slice(after.indexOf('}]'))).not.toBe('');
    expect(hex(await alone.snapshot(restored.slice(1)))).toBe(
      hex(await cache.snapshot(sequences.slice(1))),
    );
    expect(before.length).toBeGreaterThan(0);
    for (const sequence of restored.slice(1)) alone.disposeSequence(sequence);
    expect(await liveBytes(alone)).toBe(0);
  });

  it('refuses every cut and every flipped bit, and takes no page', async () => {
    const cache = await open(name);
    const bytes = await cache.snapshot(await filled(cache));
    const fresh = await open(name);
    const before = hex(await fresh.snapshot([])) + JSON.stringify(await fresh.stats());
    const refuse = async (damaged: Uint8Array, what: string) => {
      const error = await fresh.restore(damaged).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(LowbitKvError.is(error, 'SNAPSHOT_INVALID'), `${what}: ${String(error)}`).toBe(true);
    };
    const draw = createDraws(11);
    const somewhere = () => (draw() * 4096 + draw()) % bytes.length;
    const places = new Set([
      ...tokenIdRange(0, 60),
      ...Array.from({ length: 60 }, somewhere),
      bytes.length - 33,
      bytes.length - 32,
      bytes.length - 1,
    ]);
    for (const place of places) {
      const flipped = bytes.slice();
      flipped[place] = (flipped[place] as number) ^ (1 << (place % 8));
      await refuse(flipped, `bit of byte ${place}`);
      await refuse(bytes.slice(0, place), `cut to ${place}`);
    }
    await refuse(new Uint8Array([...bytes, 0]), 'one byte more');
    for (const wrong of [undefined, null, 'LBKV', [...bytes], bytes.buffer])
      await refuse(wrong as never, String(typeof wrong));
    expect(hex(await fresh.snapshot([])) + JSON.stringify(await fresh.stats())).toBe(before);
    expect((await fresh.restore(bytes)).length).toBe(4);
  });
});

it('is refused by another plan, naming both', async () => {
  const cache = await open('token keys');
  const bytes = await cache.snapshot(await filled(cache));
  for (const other of [
    await open('channel keys'),
    await openCache(tokenKeys({ bits: 2, residual: 8, sinks: 3 }), { layers: 3 }),
    await openCache(tokenKeys({ bits: 2, residual: 9, sinks: 3 }), { layers: 2 }),
    await openCache(
      tokenKeys({ bits: 2, residual: 8, sinks: 3 }),
      { layers: 2 },
      { plan: { blockTokens: 64 } },
    ),
  ]) {
    await expect(other.restore(bytes)).rejects.toMatchObject({
      code: 'SNAPSHOT_MISMATCH',
      value: cache.plan.fingerprint,
      valid: other.plan.fingerprint,
    });
    expect(await liveBytes(other)).toBe(0);
  }
});

it('takes nothing when the pool is too small', async () => {
  const cache = await open('token keys');
  const bytes = await cache.snapshot(await filled(cache));
  const small = await openCache(
    plans['token keys']?.scheme as Scheme,
    { layers: 2 },
    {
      capacity: { tokens: 32 },
    },
  );
  await expect(small.restore(bytes)).rejects.toMatchObject({ code: 'OUT_OF_PAGES' });
  expect(await liveBytes(small)).toBe(0);
});

it('a snapshot being taken is not disturbed by what happens meanwhile', async () => {
  const cache = await open('token keys');
  const sequences = await filled(cache);
  const before = hex(await cache.snapshot(sequences));
  const blocks = await cache.exportBlocks(sequences[0] as Sequence, 1, 'value');
  const pending = cache.snapshot(sequences);
  const pendingBlocks = cache.exportBlocks(sequences[0] as Sequence, 1, 'value');
  const pendingValues = cache.materialize(sequences[0] as Sequence, 1);
  for (const sequence of sequences) cache.disposeSequence(sequence);
  const next = cache.createSequence();
  await appendIds(cache, next, tokenIdRange(4000, 150));
  expect(hex(await pending)).toBe(before);
  expect((await pendingBlocks).map((block) => hex(block.bytes))).toEqual(
    blocks.map((block) => hex(block.bytes)),
  );
  expect((await pendingValues).key.shape[0]).toBe(150);
  await expectContents(cache, next, tokenIdRange(4000, 150));
  cache.disposeSequence(next);
  expect(await liveBytes(cache)).toBe(0);
});

it('restores into a cache with less rollback without losing a token', async () => {
  const spec = tokenKeys({ bits: 4, residual: 32 });
  const cache = await openCache(spec, {}, { rollback: 40 });
  const sequence = cache.createSequence();
  await appendIds(cache, sequence, tokenIdRange(0, 103));
  const fresh = await openCache(spec);
  const [restored] = await fresh.restore(await cache.snapshot([sequence]));
  // A step without tokens packs nothing: nobody hands over tensors for it.
  await fresh.step([{ sequence: restored as Sequence, tokens: 0 }]).commit();
  await expectContents(fresh, restored as Sequence, tokenIdRange(0, 103));
  await appendIds(fresh, restored as Sequence, [103]);
  await expectContents(fresh, restored as Sequence, tokenIdRange(0, 104));
  expect((await fresh.stats()).sequences[0]?.classes[0]).toMatchObject({ packed: 64, tail: 40 });
});

describe('headers that lie, with a right checksum', () => {
  interface Entry {
    kind: string;
    page: number;
    slot: number;
    count: number;
    position: number;
  }
  interface Header {
    pages: { packed: number[]; window: number; statistics: number }[];
    sequences: { length: number; states: { entries: Entry[]; statistics: number }[] }[];
  }
  const lies: Record<string, { plan: string; lie: (header: Header) => void }> = {
    'a length that the entries do not reach': { plan: 'token keys', lie: (h) => bump(h, 1) },
    'a length that the entries pass': { plan: 'token keys', lie: (h) => bump(h, -1) },
    'an entry a slot past its page': {
      plan: 'token keys',
      lie: (h) => {
        const tail = find(h, 'window');
        tail.slot = 33 - tail.count;
      },
    },
    'a block a token longer than blocks are': {
      plan: 'token keys',
      lie: (h) => {
        const { packed } = h.pages[0] as Header['pages'][number];
        packed[0] = Math.max(...packed) + 1;
      },
    },
    'the statistics page after the last': {
      plan: 'channel scale',
      lie: (h) => {
        const state = h.sequences[0]?.states[0] as { statistics: number };
        state.statistics = h.pages[0]?.statistics ?? 0;
      },
    },
    'a page that does not exist': { plan: 'token keys', lie: (h) => (entry(h, 0).page = 99) },
    'an entry past its page': { plan: 'token keys', lie: (h) => (entry(h, 0).slot = 31) },
    'a gap': { plan: 'token keys', lie: (h) => (entry(h, 1).position += 1) },
    'a packed entry that starts inside its block': {
      plan: 'token keys',
      lie: (h) => {
        const packed = find(h, 'packed');
        packed.slot = 1;
        packed.count -= 1;
        packed.position += 1;
      },
    },
    'a page used twice': {
      plan: 'f16',
      lie: (h) => (entry(h, 1).page = entry(h, 0).page),
    },
    'sinks that reach into the tail': {
      plan: 'token keys',
      lie: (h) => {
        entry(h, 0).count += 1;
        const packed = entry(h, 1);
        packed.position += 1;
        packed.count -= 1;
      },
    },
    'a block longer than a block': {
      plan: 'token keys',
      lie: (h) => {
        const counts = h.pages[0]?.packed as number[];
        counts[0] = 2 ** 40;
      },
    },
    'packed tokens without their statistics': {
      plan: 'channel scale',
      lie: (h) => {
        const states = h.sequences[0]?.states as Header['sequences'][number]['states'];
        for (const state of states) state.statistics = -1;
      },
    },
    'a statistics page that does not exist': {
      plan: 'channel scale',
      lie: (h) => {
        const state = h.sequences[0]?.states[0] as { statistics: number };
        state.statistics = 7;
      },
    },
    'a window without its newest tokens': {
      plan: 'sliding window',
      lie: (h) => {
        for (const state of h.sequences[0]?.states ?? [])
          state.entries.splice(0, state.entries.length - 1);
      },
    },
    'a window without its first sink': {
      plan: 'sliding window',
      lie: (h) => {
        for (const state of h.sequences[0]?.states ?? []) {
          const sink = state.entries[0] as Entry;
          sink.slot += 1;
          sink.position += 1;
          sink.count -= 1;
        }
      },
    },
    'a window without its sinks': {
      plan: 'sliding window',
      lie: (h) => {
        for (const state of h.sequences[0]?.states ?? []) state.entries.splice(0, 1);
      },
    },
    'an unknown field': { plan: 'token keys', lie: (h) => Object.assign(h, { extra: 1 }) },
    'a number that is none': { plan: 'token keys', lie: (h) => (entry(h, 0).count = 1.5) },
  };

  const entry = (h: Header, i: number) => h.sequences[0]?.states[0]?.entries[i] as Entry;
  const find = (h: Header, kind: string) =>
    h.sequences[0]?.states[0]?.entries.find((e) => e.kind === kind) as Entry;
  const bump = (h: Header, by: number) => {
    const sequence = h.sequences[0] as Header['sequences'][number];
    sequence.length += by;
  };

  it.each(Object.keys(lies))('%s', async (what) => {
    const { plan, lie } = lies[what] as (typeof lies)[string];
    const cache = await open(plan);
    const bytes = await cache.snapshot(await filled(cache));
    const fresh = await open(plan);
    await expect(fresh.restore(forge(bytes, lie))).rejects.toMatchObject({
      code: 'SNAPSHOT_INVALID',
    });
    expect(await liveBytes(fresh)).toBe(0);
    await expect(fresh.restore(forge(bytes, () => undefined))).resolves.toHaveLength(4);
  });

  it.each([
    ['channel scale', 'statistics', 'mask', 0x7e00, 'no measurement gives'],
    ['channel scale', 'statistics', 'mask', 0, 'no measurement gives'],
    ['channel scale', 'statistics', 'mask', 1, 'no measurement gives'],
    ['channel scale', 'statistics', 'mask', 0xbc00, 'no measurement gives'],
    ['channel scale', 'window', 'error', 0x7e00, 'not finite'],
    ['f16', 'window', 'error', 0x7e00, 'not finite'],
  ] as const)('%s: a %s page under %s with bits 0x%x', async (plan, kind, nonFinite, bits, why) => {
    const cache = await open(plan);
    const bytes = await cache.snapshot(await filled(cache));
    const header = parseSnapshotHeader(headerOf(bytes));
    const section = snapshotSections(header, cache.plan).find((one) => one.kind === kind);
    if (section === undefined) throw new Error(`no ${kind} page`);
    const body = bytes.slice(0, bytes.length - 32);
    const at = 12 + headerOf(bytes).length + section.offset;
    new DataView(body.buffer).setUint16(at, bits, true);
    const damaged = new Uint8Array([...body, ...checksum(body)]);
    const fresh = await createCache(cache.plan, referenceBackend(), {
      capacity: { tokens: 4096, sequences: 8 },
      nonFinite,
    });
    await expect(fresh.restore(damaged)).rejects.toMatchObject({
      code: 'SNAPSHOT_INVALID',
      message: expect.stringMatching(new RegExp(`a ${kind} page of the .* ${why}`)),
    });
    expect(await liveBytes(fresh)).toBe(0);
  });

  function headerOf(bytes: Uint8Array): Uint8Array {
    const size = new DataView(bytes.buffer, bytes.byteOffset).getUint32(8, true);
    return bytes.subarray(12, 12 + size);
  }

  /** Changes the header and seals the container again. */
  function forge(bytes: Uint8Array, lie: (header: Header) => void): Uint8Array {
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    const size = view.getUint32(8, true);
    const header = JSON.parse(new TextDecoder().decode(bytes.subarray(12, 12 + size))) as Header;
    lie(header);
    const text = new TextEncoder().encode(JSON.stringify(header));
    const body = new Uint8Array([
      ...bytes.subarray(0, 12),
      ...text,
      ...bytes.subarray(12 + size, bytes.length - 32),
    ]);
    new DataView(body.buffer).setUint32(8, text.length, true);
    return new Uint8Array([...body, ...checksum(body)]);
  }
});
