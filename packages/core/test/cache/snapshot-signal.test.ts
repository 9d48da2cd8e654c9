// Snapshots that are watched and stopped: bytes done, the reason of the signal, and nothing left behind.
import { describe, expect, it } from 'vitest';
import type { Cache, SnapshotOptions, SnapshotProgress } from '../../src/index.js';
import { tokenIdRange } from '../../src/testing/index.js';
import { observe } from '../support/observe.js';
import { appendIds, openCache } from '../support/pointer-cache.js';
import { tokenKeys } from '../support/schemes.js';

const LAYERS = 3;
const open = () => openCache(tokenKeys({ bits: 2, residual: 8, sinks: 3 }), { layers: LAYERS });
const reason = new Error('stopped by the test');

const cache = await open();
const sequence = cache.createSequence();
await appendIds(cache, sequence, tokenIdRange(0, 150), { chunk: 50 });
const seen = await observe(cache, [sequence]);
const snapshot = await cache.snapshot([sequence]);

interface Work {
  readonly cache: Cache;
  run(options: SnapshotOptions): Promise<unknown>;
}

const works: [string, () => Promise<Work>][] = [
  ['snapshot', async () => ({ cache, run: (options) => cache.snapshot([sequence], options) })],
  [
    'restore',
    async () => {
      const fresh = await open();
      return { cache: fresh, run: (options) => fresh.restore(snapshot, options) };
    },
  ],
];

describe.each(works)('%s', (_, prepare) => {
  it('says how many bytes are done, up to all of them', async () => {
    const steps: SnapshotProgress[] = [];
    await (await prepare()).run({ onProgress: (progress) => steps.push(progress) });
    const total = steps.at(-1)?.totalBytes ?? 0;
    expect(steps.at(-1)).toEqual({ bytes: total, totalBytes: total });
    // Pages of windows and blocks, of keys and values, of each layer.
    expect(steps).toHaveLength(2 * 2 * LAYERS);
    expect(steps.map(({ bytes }) => bytes)).toEqual(
      steps.map(({ bytes }) => bytes).toSorted((a, b) => a - b),
    );
    expect(total).toBeLessThan(snapshot.length);
    expect(total).toBeGreaterThan(snapshot.length / 2);
  });

  it('stops where the signal fires, and everything is as before', async () => {
    for (const last of [0, 1, 2, 5]) {
      const work = await prepare();
      const before = await work.cache.stats();
      const controller = new AbortController();
      let steps = 0;
      const onProgress = () => {
        if (steps++ === last) controller.abort(reason);
      };
      await expect(work.run({ signal: controller.signal, onProgress })).rejects.toBe(reason);
      expect(steps).toBe(last + 1);
      expect(await work.cache.stats()).toEqual(before);
    }
    expect(await observe(cache, [sequence])).toBe(seen);
  });

  it('does nothing when the signal has fired', async () => {
    const { run } = await prepare();
    const signal = AbortSignal.abort(reason);
    const onProgress = () => expect.fail('went on');
    await expect(run({ signal, onProgress })).rejects.toBe(reason);
  });

  it('refuses an option that there is not', async () => {
    const { run } = await prepare();
    await expect(run({ sginal: undefined } as SnapshotOptions)).rejects.toMatchObject({
      code: 'OPTION_INVALID',
    });
  });
});

it('a signal changes no byte', async () => {
  const { signal } = new AbortController();
  expect(await cache.snapshot([sequence], { signal })).toEqual(snapshot);
  const fresh = await open();
  const restored = await fresh.restore(snapshot, { signal });
  expect(restored.map(({ length }) => length)).toEqual([150]);
});
