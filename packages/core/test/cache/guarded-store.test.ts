// Whatever a backend throws becomes an error that names the backend, what it was doing and what to do next.
import { expect, it } from 'vitest';
import { type BlockStore, createCache, createPlan, LowbitKvError } from '../../src/index.js';
import { tokenIdRange } from '../../src/testing/index.js';
import { doctored } from '../support/doctored-backends.js';
import { appendIds, GEOMETRY, pointAt } from '../support/pointer-cache.js';
import { channelKeys } from '../support/schemes.js';

/** A cache of ten tokens whose store fails in one method while `broken` says so. */
async function open(method: keyof BlockStore) {
  const state = { broken: false };
  const backend = doctored((inner) => ({
    [method]: (...values: never[]) => {
      if (state.broken) throw new RangeError('no memory');
      return (inner[method] as (...v: never[]) => unknown)(...values);
    },
  }));
  const cache = await createCache(createPlan(channelKeys(), GEOMETRY), backend, {
    capacity: { tokens: 256, sequences: 2 },
  });
  const sequence = cache.createSequence();
  await appendIds(cache, sequence, tokenIdRange(0, 10));
  return { cache, sequence, state };
}

type Opened = Awaited<ReturnType<typeof open>>;
const attend = async ({ cache, sequence }: Opened) =>
  cache.attend(0, pointAt(cache, [null, null]), [sequence]).read();
const append = ({ cache, sequence }: Opened) => appendIds(cache, sequence, tokenIdRange(10, 5));

it.each<[keyof BlockStore, RegExp, (opened: Opened) => Promise<unknown>]>([
  ['append', /stored keys and values/, append],
  ['settle', /finished a step/, append],
  ['attend', /in attention/, attend],
  ['readPages', /read pages back/, ({ cache, sequence }) => cache.snapshot([sequence])],
  ['dispose', /freed its memory/, async ({ cache }) => cache.dispose()],
])('%s', async (method, what, work) => {
  const opened = await open(method);
  opened.state.broken = true;
  const error = await work(opened).catch((thrown: unknown) => thrown);
  if (!LowbitKvError.is(error, 'BACKEND_FAILED')) throw error;
  expect(error.message).toMatch(what);
  expect(error.message).toContain('"doctored"');
  expect(error.next).toMatch(/\w/);
  expect(error.cause).toBeInstanceOf(RangeError);
  opened.state.broken = false;
  if (method === 'dispose') return;
  expect(opened.sequence.length).toBe(10);
  await append(opened);
  await attend(opened);
  expect(opened.sequence.length).toBe(15);
});

it('writePages: nothing is restored, and no page is lost', async () => {
  const opened = await open('writePages');
  const { cache, sequence, state } = opened;
  const bytes = await cache.snapshot([sequence]);
  const { live } = (await cache.stats()).bytes;
  state.broken = true;
  await expect(cache.restore(bytes)).rejects.toMatchObject({
    code: 'BACKEND_FAILED',
    summary: expect.stringContaining('wrote pages'),
  });
  expect((await cache.stats()).bytes.live).toBe(live);
  state.broken = false;
  expect((await cache.restore(bytes))[0]?.length).toBe(10);
});

it('forget: the step is over, and its own fault is what the caller sees', async () => {
  const { cache, sequence, state } = await open('forget');
  state.broken = true;
  const step = cache.step([{ sequence, tokens: 1 }]);
  expect(() => step.append(9, undefined as never, undefined as never)).toThrow(
    expect.objectContaining({ code: 'TENSOR_INVALID' }),
  );
  cache.truncate(sequence, 4);
  expect(sequence.length).toBe(4);
});

it('an error of the backend that says enough is passed on', async () => {
  const fault = new LowbitKvError('DEVICE_LOST', {
    message: 'the card is gone',
    value: 1,
    valid: 'a card',
    next: 'Open another.',
  });
  const backend = doctored(() => ({ readPages: () => Promise.reject(fault) }));
  const cache = await createCache(createPlan(channelKeys(), GEOMETRY), backend, {
    capacity: { tokens: 256 },
  });
  const sequence = cache.createSequence();
  await appendIds(cache, sequence, tokenIdRange(0, 10));
  await expect(cache.snapshot([sequence])).rejects.toBe(fault);
});
