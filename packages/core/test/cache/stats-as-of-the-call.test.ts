// Statistics say what was true when they were asked for, and count f16 slots that sequences share once.
import { expect, it } from 'vitest';
import { tokenIdRange } from '../../src/testing/index.js';
import { appendIds, openCache } from '../support/pointer-cache.js';
import { channelKeys, scheme } from '../support/schemes.js';

it('while sequences change', async () => {
  const cache = await openCache(channelKeys(), { layers: 2 });
  const sequence = cache.createSequence();
  await appendIds(cache, sequence, tokenIdRange(0, 200));
  const fork = cache.fork(sequence);
  await appendIds(cache, fork, tokenIdRange(200, 9));
  const before = await cache.stats();
  const asked = cache.stats();
  cache.disposeSequence(fork);
  cache.truncate(sequence, 10);
  expect(await asked).toEqual(before);
  const after = await cache.stats();
  expect(after.sequences.map(({ length }) => length)).toEqual([10]);
  expect(after.bytes.live).toBeLessThan(before.bytes.live);
});

it('slots in the middle of a shared page that nobody holds any more', async () => {
  const cache = await openCache(scheme({ key: { bits: 16 }, value: { recent: 32, flush: 12 } }));
  const short = cache.createSequence();
  await appendIds(cache, short, tokenIdRange(0, 32));
  const long = cache.fork(short);
  cache.truncate(short, 5);
  await appendIds(cache, long, tokenIdRange(32, 12));
  const { bytes, sequences } = await cache.stats();
  expect(sequences.map(({ classes }) => classes[1]?.tail)).toEqual([5, 32]);
  // Keys: 32 in the shared page, 12 behind it. Values: `long` packed the first 12 and `short` holds the first 5 of the
  // shared page, so that 5 and 20 of its slots are in use.
  expect(bytes.windows).toBe((32 + 12 + 5 + 20 + 12) * 64 * 2);
});
