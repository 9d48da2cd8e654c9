// Arguments that plain JavaScript can get wrong are refused with a code, and nothing changes.
import { expect, it } from 'vitest';
import { LowbitKvError } from '../../src/index.js';
import { tokenIdRange } from '../../src/testing/index.js';
import { appendIds, expectPattern, openCache, pointerInput } from '../support/pointer-cache.js';
import { tokenKeys } from '../support/schemes.js';

it('lists, options and names', async () => {
  const cache = await openCache(tokenKeys());
  const sequence = cache.createSequence();
  await appendIds(cache, sequence, tokenIdRange(0, 40));
  const { key } = pointerInput(cache, [{ ids: [0, 1] }]);
  const query = { ...key, shape: [1, 2, 64] };
  const wrong = undefined as never;
  const step = cache.step([{ sequence: cache.createSequence(), tokens: 0 }]);
  for (const call of [
    () => cache.step(wrong),
    () => cache.attend(0, query, wrong),
    () => cache.attend(0, query, [sequence], null as never),
    () => step.attend(0, query, null as never),
    () => cache.reorder(wrong, [0]),
    () => cache.reorder([sequence], wrong),
  ])
    expect(call).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }));
  for (const call of [
    () => cache.snapshot(wrong),
    () => cache.exportBlocks(sequence, 0, 'keys' as never),
  ])
    await expect(call()).rejects.toSatisfy((e) => LowbitKvError.is(e, 'OPTION_INVALID'));
  step.abandon();
  await expectPattern(cache, sequence, 7);
});
