// A backend that breaks its contract is named; what it says is never taken for consent, or for bytes.
import { describe, expect, it } from 'vitest';
import {
  type Backend,
  type BlockStore,
  createCache,
  createPlan,
  referenceBackend,
} from '../../src/index.js';
import { tokenIdRange } from '../../src/testing/index.js';
import { appendIds, GEOMETRY } from '../support/pointer-cache.js';
import { channelKeys } from '../support/schemes.js';

const reference = referenceBackend();
const plan = createPlan(channelKeys(), GEOMETRY);
const open = (changes: object) =>
  createCache(plan, { ...reference, id: 'broken', ...changes } as Backend, {
    capacity: { tokens: 256 },
    allowEmulation: true,
  });

describe('answers that no contract knows', () => {
  it.each([
    ['nothing', undefined],
    ['another kind', { kind: 'maybe' }],
    ['a refusal without reasons', { kind: 'refused' }],
    ['an emulation without reasons', { kind: 'emulated' }],
  ])('supports: %s', async (_, support) => {
    await expect(open({ supports: () => support })).rejects.toMatchObject({
      code: 'BACKEND_INVALID',
      value: support,
      message: expect.stringContaining('supports of backend "broken"'),
    });
  });

  it('createStore: no store, or one that lacks methods', async () => {
    for (const store of [undefined, {}]) {
      await expect(open({ createStore: async () => store })).rejects.toMatchObject({
        code: 'BACKEND_INVALID',
        value: expect.stringContaining('append, attend, settle, forget'),
      });
    }
  });
});

it('pages of the wrong size become no block, snapshot or tensor', async () => {
  const createStore: Backend['createStore'] = async (...options) => {
    const store = await reference.createStore(...options);
    const short: BlockStore['readPages'] = async (request) =>
      (await store.readPages(request)).subarray(2);
    return new Proxy(store, {
      get(target, name) {
        if (name === 'readPages') return short;
        const member = Reflect.get(target, name, target);
        return typeof member === 'function' ? member.bind(target) : member;
      },
    });
  };
  const cache = await open({ createStore });
  const sequence = cache.createSequence();
  await appendIds(cache, sequence, tokenIdRange(0, 150));
  for (const read of [
    () => cache.exportBlocks(sequence, 0, 'key'),
    () => cache.materialize(sequence, 0),
    () => cache.snapshot([sequence]),
  ])
    await expect(read()).rejects.toMatchObject({ code: 'BACKEND_FAILED' });
});
