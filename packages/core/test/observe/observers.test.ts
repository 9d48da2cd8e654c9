// Observers that fail, change what they get or are none, and backends that fail under one.
import { describe, expect, it, vi } from 'vitest';
import {
  type Backend,
  type BackendEvent,
  type BackendObserver,
  createCache,
  createLowbitKv,
  createPlan,
  f32Tensor,
  observeBackend,
  referenceBackend,
} from '../../src/index.js';
import { FaultyBackend, fixedProgram, fixedSetup, runProgram } from '../../src/programs/index.js';
import { tokenIdRange } from '../../src/testing/index.js';
import { doctored } from '../support/doctored-backends.js';
import { observe } from '../support/observe.js';
import { appendIds, GEOMETRY } from '../support/pointer-cache.js';
import { channelKeys } from '../support/schemes.js';

const plan = createPlan(channelKeys(), GEOMETRY);

/** Everything that can be seen of a cache after some steps. */
async function seenUnder(observer: BackendObserver | null): Promise<string> {
  const backend = referenceBackend();
  const used = observer === null ? backend : observeBackend(backend, observer);
  const cache = await createCache(plan, used, { capacity: { tokens: 256, sequences: 4 } });
  const sequence = cache.createSequence();
  await appendIds(cache, sequence, tokenIdRange(0, 150), { chunk: 40 });
  const fork = cache.fork(sequence);
  await appendIds(cache, fork, [7]);
  return observe(cache, [sequence, fork]);
}

/** Sets every number and empties every list that it can reach. */
function spoil(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, part] of Object.entries(value)) {
    spoil(part);
    if (typeof part === 'number') (value as Record<string, unknown>)[key] = -1;
  }
  if (Array.isArray(value)) value.length = 0;
}

describe('the cache is what it is without an observer', async () => {
  const bare = await seenUnder(null);
  it.each<[string, Omit<BackendObserver, 'onError'>]>([
    ['that throws', { onEvent: () => fail() }],
    ['that rejects', { onEvent: async () => fail() }],
    ['that changes what it gets', { values: true, onEvent: spoil }],
  ])('under one %s', async (_, observer) => {
    const onError = vi.fn();
    expect(await seenUnder({ ...observer, onError })).toBe(bare);
    const fails = observer.onEvent !== spoil;
    expect(onError.mock.calls.length > 50).toBe(fails);
    if (fails) expect(onError).toHaveBeenLastCalledWith(new Error('the observer is broken'));
  });

  it('under one whose errors are handled by what throws too', async () => {
    expect(await seenUnder({ onEvent: fail, onError: fail })).toBe(bare);
  });

  it('the first error is a warning where nobody takes errors', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    try {
      expect(await seenUnder({ onEvent: fail })).toBe(bare);
      expect(warn.mock.calls).toEqual([
        [
          expect.stringMatching(/an observer of a backend failed/),
          new Error('the observer is broken'),
        ],
      ]);
    } finally {
      warn.mockRestore();
    }
  });
});

describe('faults', () => {
  /** The error of an attempt, and the event of it. */
  async function fault(backend: Backend, act: (backend: Backend) => Promise<unknown>) {
    const events: BackendEvent[] = [];
    const observed = observeBackend(backend, { onEvent: (event) => events.push(event) });
    const [bare, told] = await Promise.all(
      [backend, observed].map((one) =>
        act(one).then(
          () => null,
          (error: unknown) => error,
        ),
      ),
    );
    const event = events.find(({ phase }) => phase === 'fault');
    if (event?.phase !== 'fault') throw new Error('no fault was told');
    return { bare, told, event };
  }
  const attended = async (backend: Backend) => {
    const cache = await createCache(plan, backend, { capacity: { tokens: 64 } });
    const sequence = cache.createSequence();
    await appendIds(cache, sequence, [1]);
    const query = f32Tensor(new Float32Array(128), [1, 2, 64]);
    await cache.attend(0, query, [sequence]).read();
  };

  it('of a call, of a promise and of an allocation are those of the backend, with their code', async () => {
    const broken = new Error('the card fell out');
    const cases: [string, Backend][] = [
      ['attend', doctored(() => ({ attend: () => reject(broken) }))],
      ['settle', doctored(() => ({ settle: async () => reject(broken) }))],
      ['create-store', { ...referenceBackend(), createStore: async () => reject(broken) }],
      ['create-store', { ...referenceBackend(), createStore: () => reject(broken) }],
      [
        'read',
        doctored((inner) => ({
          attend: (job) => ({ ...inner.attend(job), read: async () => reject(broken) }),
        })),
      ],
    ];
    for (const [type, backend] of cases) {
      const { bare, told, event } = await fault(backend, attended);
      expect(told).toEqual(bare);
      expect(told).toMatchObject({ code: 'BACKEND_FAILED', cause: broken });
      expect(event).toMatchObject({ type, error: { code: null, message: 'the card fell out' } });
      expect(event.milliseconds).toBeGreaterThanOrEqual(0);
    }
  });

  it('a store that breaks the contract is refused as without an observer', async () => {
    const backend = { ...referenceBackend(), createStore: async () => ({}) } as unknown as Backend;
    const { bare, told, event } = await fault(backend, attended);
    expect(told).toEqual(bare);
    expect(told).toMatchObject({ code: 'BACKEND_INVALID' });
    expect(event).toMatchObject({ type: 'create-store', error: { code: 'BACKEND_INVALID' } });
  });

  it('at calls of a program leave what they leave without an observer', async () => {
    const [setup, backend] = [fixedSetup(), referenceBackend()];
    const counted = new FaultyBackend(backend);
    await runProgram(counted.backend, setup, fixedProgram);
    for (const call of [5, 40, 90, 150].filter((one) => one < counted.calls)) {
      const faulty = new FaultyBackend(backend);
      faulty.arm(call, 'before');
      let faults = 0;
      const observed = observeBackend(faulty.backend, {
        onEvent: ({ phase }) => {
          if (phase === 'fault') faults++;
        },
      });
      await runProgram(observed, setup, fixedProgram, {
        isFault: (error) => faulty.isFault(error),
      });
      expect([faulty.injected, faulty.alive]).toEqual([1, 0]);
      expect(faults).toBe(1);
    }
  });

  it('answers that are no consent are told', async () => {
    const events: BackendEvent[] = [];
    const refusing: Backend = {
      ...referenceBackend(),
      supports: () => ({ kind: 'emulated', reasons: ['no kernel'] }),
      probe: async () => ({ ok: false, reason: 'no card', next: 'Buy one.' }),
    };
    const observed = observeBackend(refusing, { onEvent: (event) => events.push(event) });
    const capacity = { tokens: 64 };
    const allowed = createCache(plan, observed, { capacity, allowEmulation: true });
    await expect(allowed).rejects.toMatchObject({ code: 'BACKEND_UNAVAILABLE' });
    expect(events.filter(({ phase }) => phase === 'end')).toMatchObject([
      { answer: { kind: 'emulated', reasons: ['no kernel'] } },
      { answer: { ok: false, reason: 'no card' } },
    ]);
  });
});

describe('what is taken', () => {
  it('createLowbitKv observes every backend that it has', async () => {
    const seen: string[] = [];
    const kv = createLowbitKv({
      backends: [{ ...referenceBackend(), id: 'other' }],
      observer: { onEvent: ({ backend, type, phase }) => seen.push(`${backend} ${type} ${phase}`) },
    });
    for (const backend of ['reference', 'other'])
      await kv.createCache(plan, { capacity: { tokens: 64 }, backend });
    for (const id of ['reference', 'other']) expect(seen).toContain(`${id} create-store end`);
    expect(createLowbitKv().backends.get('reference').id).toBe('reference');
  });

  it.each<[string, unknown, RegExp]>([
    ['nothing', undefined, /an observer takes an object/],
    ['a function', () => undefined, /an observer takes an object of options; got function/],
    ['no onEvent', {}, /onEvent of an observer is not valid/],
    ['a misspelt field', { onEvent: fail, onErorr: fail }, /Did you mean "onError"/],
    ['values that are no switch', { onEvent: fail, values: 1 }, /values .*got 1; valid: a boolean/],
  ])('an observer that is %s is refused', (_, observer, message) => {
    const act = () => observeBackend(referenceBackend(), observer as BackendObserver);
    expect(act).toThrow(message);
    expect(act).toThrow(/^OPTION_INVALID/);
  });

  it('what is no backend is refused', () => {
    const act = () => observeBackend({ id: 'x', specVersion: 1 } as Backend, { onEvent: fail });
    expect(act).toThrow(/^BACKEND_INVALID/);
  });
});

function fail(): never {
  throw new Error('the observer is broken');
}

function reject(error: Error): never {
  throw error;
}
