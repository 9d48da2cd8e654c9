// A query that is not a number must show in its own row, and nowhere else: zeros would mean that it saw nothing.
import { expect, it } from 'vitest';
import { f32Tensor } from '../../src/index.js';
import { tokenIdRange } from '../../src/testing/index.js';
import { appendIds, openCache } from '../support/pointer-cache.js';
import { channelKeys } from '../support/schemes.js';

it.each([Number.NaN, Number.POSITIVE_INFINITY])('%s', async (value) => {
  const cache = await openCache(channelKeys(), { softCap: 20 });
  const sequence = cache.createSequence();
  await appendIds(cache, sequence, tokenIdRange(1, 50));
  const query = f32Tensor(new Float32Array(128).fill(0.5), [1, 2, 64]);
  // Two, so that an infinity meets itself: the ids of these tokens differ in the signs of both channels.
  for (const channel of [0, 1]) query.data[channel] = channel === 0 ? value : -value;
  const { output, logSumExp } = await cache
    .attend(0, query, [sequence], { logSumExp: true })
    .read();
  expect([...output.data.subarray(0, 64)].every(Number.isNaN)).toBe(true);
  expect([...output.data.subarray(64)].every(Number.isFinite)).toBe(true);
  expect(logSumExp?.data[0]).toBeNaN();
  expect(Number.isFinite(logSumExp?.data[1])).toBe(true);
});
