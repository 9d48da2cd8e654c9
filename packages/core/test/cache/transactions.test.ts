// A step is a transaction: abandoned or failed half way it leaves no trace, and out of order it is refused.
import { describe, expect, it } from 'vitest';
import {
  type Backend,
  type Cache,
  createCache,
  createPlan,
  f16Tensor,
  f32Tensor,
  LowbitKvError,
  referenceBackend,
  type Sequence,
  type Step,
} from '../../src/index.js';
import { tokenIdRange } from '../../src/testing/index.js';
import { observe } from '../support/observe.js';
import { appendIds, GEOMETRY, openCache, pointAt, pointerInput } from '../support/pointer-cache.js';
import { channelKeys, channelScale, scheme, tokenKeys } from '../support/schemes.js';

const LAYERS = 3;
const plans = {
  'packs after attention': tokenKeys({ bits: 2, residual: 8, sinks: 3 }),
  'packs before attention': channelKeys({ bits: 3, residual: 0 }),
  'takes statistics in the step': scheme({
    key: { bits: 4, transforms: [channelScale(75)] },
    value: { bits: 4, along: 'tokens', recent: 4 },
  }),
  'a sliding window': tokenKeys({ bits: 4, sinks: 2 }),
};

/** Two sequences, one forked, all with part-filled pages. */
async function prepared(
  name: keyof typeof plans,
): Promise<{ cache: Cache; sequences: Sequence[] }> {
  const cache = await openCache(plans[name], {
    layers: LAYERS,
    slidingWindow: name === 'a sliding window' ? { size: 40, sinks: 2 } : null,
  });
  const first = cache.createSequence();
  await appendIds(cache, first, tokenIdRange(0, 70));
  const fork = cache.fork(first);
  await appendIds(cache, fork, tokenIdRange(100, 3));
  const other = cache.createSequence();
  await appendIds(cache, other, tokenIdRange(200, 45));
  return { cache, sequences: [first, fork, other] };
}

const NEW = [40, 1, 20];

function begin(
  cache: Cache,
  sequences: readonly Sequence[],
): { step: Step; append: (layer: number) => void } {
  const ids = NEW.map((count, i) => ({ ids: tokenIdRange(300 + 100 * i, count) }));
  const step = cache.step(sequences.map((sequence, i) => ({ sequence, tokens: NEW[i] as number })));
  return {
    step,
    append: (layer) => {
      const { key, value } = pointerInput(cache, ids, layer);
      step.append(layer, key, value);
    },
  };
}

const ROWS = NEW.reduce((sum, count) => sum + count, 0);
const bad = (value: number) => {
  const data = new Float32Array(ROWS * 64).fill(1);
  data[45 * 64 + 7] = value;
  return f32Tensor(data, [ROWS, 1, 64]);
};
const good = () => f32Tensor(new Float32Array(ROWS * 64).fill(1), [ROWS, 1, 64]);

/** Ways in which a step can end badly after some layers were appended. */
const endings: Record<string, (step: Step, append: (layer: number) => void) => Promise<void>> = {
  'abandoned at once': async (step) => step.abandon(),
  'abandoned after two layers and attention': async (step, append) => {
    append(0);
    await step.attend(0, f16Tensor(new Uint16Array(ROWS * 128), [ROWS, 2, 64])).read();
    append(1);
    step.abandon();
  },
  'abandoned with all layers appended': async (step, append) => {
    for (let layer = 0; layer < LAYERS; layer++) append(layer);
    step.abandon();
  },
  'NaN in a key of the last layer': async (step, append) => {
    append(0);
    append(1);
    expect(() => step.append(2, bad(Number.NaN), good())).toThrow(
      expect.objectContaining({
        code: 'NON_FINITE',
        where: { tensor: 'key', layer: 2, sequence: 2, head: 0, token: 49, channel: 7 },
      }),
    );
  },
  'a value beyond f16': async (step, append) => {
    append(1);
    expect(() => step.append(0, good(), bad(65520))).toThrow(
      expect.objectContaining({ code: 'NON_FINITE', value: 65520 }),
    );
  },
  'a tensor of the wrong shape': async (step, append) => {
    append(0);
    expect(() => step.append(1, good(), f32Tensor(new Float32Array(64), [1, 1, 64]))).toThrow(
      expect.objectContaining({ code: 'TENSOR_INVALID' }),
    );
  },
  'a layer that does not exist': async (step, append) => {
    append(0);
    expect(() => append(1)).not.toThrow();
    expect(() => step.append(9, good(), good())).toThrow(
      expect.objectContaining({ code: 'TENSOR_INVALID', value: 9 }),
    );
  },
  'a layer appended twice': async (_step, append) => {
    append(0);
    expect(() => append(0)).toThrow(expect.objectContaining({ code: 'STEP_STATE' }));
  },
};

describe.each(Object.keys(plans) as (keyof typeof plans)[])('%s', (name) => {
  it.each(Object.keys(endings))('%s', async (ending) => {
    const { cache, sequences } = await prepared(name);
    const before = await observe(cache, sequences);
    const { step, append } = begin(cache, sequences);
    await (endings[ending] as (typeof endings)[string])(step, append);
    expect(await observe(cache, sequences)).toBe(before);
    expect(() => append(0)).toThrow(expect.objectContaining({ code: 'STEP_STATE' }));
    await expect(step.commit()).rejects.toMatchObject({ code: 'STEP_STATE' });
    step.abandon();
    expect(await observe(cache, sequences)).toBe(before);

    // The next step goes as if nothing had happened: equal to the same step in a cache without the accident.
    const again = begin(cache, sequences);
    for (let layer = 0; layer < LAYERS; layer++) again.append(layer);
    await again.step.commit();
    const twin = await prepared(name);
    const clean = begin(twin.cache, twin.sequences);
    for (let layer = 0; layer < LAYERS; layer++) clean.append(layer);
    await clean.step.commit();
    expect(await observe(cache, sequences)).toBe(await observe(twin.cache, twin.sequences));
    expect(before).not.toBe(await observe(cache, sequences));
  });
});

describe('a fault that the device reports late', () => {
  const failing = (): { backend: Backend; fail: () => void } => {
    let broken = false;
    const backend: Backend = {
      ...referenceBackend(),
      createStore: async (plan, options) => {
        const store = await referenceBackend().createStore(plan, options);
        store.settle = async () => {
          if (!broken) return;
          broken = false;
          throw new LowbitKvError('NON_FINITE', {
            message: 'device fault word set',
            value: 1,
            valid: '0',
            next: 'Look upstream.',
          });
        };
        return store;
      },
    };
    return {
      backend,
      fail: () => {
        broken = true;
      },
    };
  };

  it('rolls the whole step back', async () => {
    const { backend, fail } = failing();
    const plan = createPlan(tokenKeys({ bits: 2 }), GEOMETRY);
    const cache = await createCache(plan, backend, { capacity: { tokens: 500 } });
    const sequence = cache.createSequence();
    await appendIds(cache, sequence, tokenIdRange(0, 40));
    const before = await observe(cache, [sequence]);
    fail();
    await expect(appendIds(cache, sequence, tokenIdRange(40, 40))).rejects.toMatchObject({
      code: 'NON_FINITE',
    });
    expect(await observe(cache, [sequence])).toBe(before);
    await appendIds(cache, sequence, tokenIdRange(40, 40));
    expect(sequence.length).toBe(80);
  });
});

describe('what is out of order is refused', () => {
  const open = async () => {
    const cache = await openCache(tokenKeys({ bits: 2 }), { layers: 2 });
    const sequence = cache.createSequence();
    await appendIds(cache, sequence, tokenIdRange(0, 5));
    return { cache, sequence };
  };
  const code = (name: string) => expect.objectContaining({ code: name });
  const query = (cache: Cache) => pointAt(cache, [null, null]);

  it('attend before append of the layer, and the step goes on', async () => {
    const { cache, sequence } = await open();
    const step = cache.step([{ sequence, tokens: 1 }]);
    expect(() => step.attend(0, query(cache))).toThrow(code('STEP_STATE'));
    const { key, value } = pointerInput(cache, [{ ids: [9] }]);
    step.append(0, key, value);
    step.attend(0, query(cache));
    expect(() => step.attend(1, query(cache))).toThrow(code('STEP_STATE'));
    await expect(step.commit()).rejects.toMatchObject({ code: 'STEP_STATE', value: '1' });
    step.append(1, key, value);
    await step.commit();
    expect(sequence.length).toBe(6);
    await expect(step.commit()).rejects.toMatchObject({ code: 'STEP_STATE', value: 'committed' });
    expect(() => step.append(0, key, value)).toThrow(code('STEP_STATE'));
    expect(() => step.attend(0, query(cache))).toThrow(code('STEP_STATE'));
    step.abandon();
    expect(sequence.length).toBe(6);
  });

  it('two commits at once: the second is refused, the first holds', async () => {
    const { cache, sequence } = await open();
    const step = cache.step([{ sequence, tokens: 0 }]);
    const [first, second] = await Promise.allSettled([step.commit(), step.commit()]);
    expect(first.status).toBe('fulfilled');
    expect(second).toMatchObject({ status: 'rejected', reason: { code: 'STEP_STATE' } });
  });

  it('a sequence in two steps, twice in one step, or changed while in a step', async () => {
    const { cache, sequence } = await open();
    expect(() =>
      cache.step([
        { sequence, tokens: 1 },
        { sequence, tokens: 1 },
      ]),
    ).toThrow(code('STEP_STATE'));
    const step = cache.step([{ sequence, tokens: 1 }]);
    expect(() => cache.step([{ sequence, tokens: 1 }])).toThrow(code('SEQUENCE_STATE'));
    expect(() => cache.truncate(sequence, 1)).toThrow(code('SEQUENCE_STATE'));
    expect(() => cache.reset(sequence)).toThrow(code('SEQUENCE_STATE'));
    expect(() => cache.fork(sequence)).toThrow(code('SEQUENCE_STATE'));
    expect(() => cache.reorder([sequence], [0])).toThrow(code('SEQUENCE_STATE'));
    expect(() => cache.disposeSequence(sequence)).toThrow(code('SEQUENCE_STATE'));
    for (const read of [
      () => cache.snapshot([sequence]),
      () => cache.exportBlocks(sequence, 0, 'key'),
      () => cache.materialize(sequence, 0),
    ])
      await expect(read()).rejects.toMatchObject({ code: 'SEQUENCE_STATE' });
    step.abandon();
    expect(cache.fork(sequence).length).toBe(5);
  });

  it('disposed sequences and sequences of another cache', async () => {
    const { cache, sequence } = await open();
    const stranger = (await open()).sequence;
    for (const wrong of [stranger, undefined as never, { length: 3 } as never]) {
      expect(() => cache.step([{ sequence: wrong, tokens: 1 }])).toThrow(code('SEQUENCE_STATE'));
      expect(() => cache.attend(0, query(cache), [wrong])).toThrow(code('SEQUENCE_STATE'));
      expect(() => cache.truncate(wrong, 0)).toThrow(code('SEQUENCE_STATE'));
    }
    expect(() => cache.step([null as never])).toThrow(code('SEQUENCE_STATE'));
    cache.disposeSequence(sequence);
    cache.disposeSequence(sequence);
    expect(() => cache.step([{ sequence, tokens: 1 }])).toThrow(code('SEQUENCE_STATE'));
    expect(() => cache.fork(sequence)).toThrow(code('SEQUENCE_STATE'));
    expect(() => cache.attend(0, query(cache), [sequence])).toThrow(code('SEQUENCE_STATE'));
    await expect(cache.snapshot([sequence])).rejects.toMatchObject({ code: 'SEQUENCE_STATE' });
    expect(stranger.length).toBe(5);
  });

  it('a disposed cache, also for a step that was open', async () => {
    const { cache, sequence } = await open();
    const step = cache.step([{ sequence, tokens: 0 }]);
    cache.dispose();
    cache.dispose();
    await expect(step.commit()).rejects.toMatchObject({ code: 'CACHE_DISPOSED' });
    expect(() => cache.createSequence()).toThrow(code('CACHE_DISPOSED'));
    expect(() => cache.step([])).toThrow(code('CACHE_DISPOSED'));
    expect(() => cache.attend(0, query(cache), [])).toThrow(code('CACHE_DISPOSED'));
    await expect(cache.stats()).rejects.toMatchObject({ code: 'CACHE_DISPOSED' });
    await expect(cache.snapshot([])).rejects.toMatchObject({ code: 'CACHE_DISPOSED' });
    await expect(cache.restore(new Uint8Array(0))).rejects.toMatchObject({
      code: 'CACHE_DISPOSED',
    });
    cache.disposeSequence(sequence);
  });

  it('convenience append that fails leaves the sequence free', async () => {
    const { cache, sequence } = await open();
    const { key, value } = pointerInput(cache, [{ ids: [9] }]);
    const input = { key, value };
    for (const layers of [[input], [input, undefined], [input, {}], 'no list', undefined]) {
      await expect(cache.append([{ sequence, tokens: 1 }], layers as never)).rejects.toMatchObject({
        code: 'TENSOR_INVALID',
      });
    }
    await cache.append([{ sequence, tokens: 1 }], [input, input]);
    expect(sequence.length).toBe(6);
  });

  it('a pool without room says so before any work, and nothing changes', async () => {
    const cache = await openCache(tokenKeys({ bits: 2 }), {}, { capacity: { tokens: 100 } });
    const sequence = cache.createSequence();
    await appendIds(cache, sequence, tokenIdRange(0, 90));
    const before = await observe(cache, [sequence]);
    const error = await appendIds(cache, sequence, tokenIdRange(90, 500)).catch((e: unknown) => e);
    if (!LowbitKvError.is(error, 'OUT_OF_PAGES')) throw error;
    const { needed, free } = error.value as { needed: number; free: number };
    expect(needed).toBeGreaterThan(free);
    expect(await observe(cache, [sequence])).toBe(before);
    await appendIds(cache, sequence, tokenIdRange(90, 10));
    expect(sequence.length).toBe(100);
  });
});
