// Every code that core raises, raised by a real bad input, with everything a person needs to go on.
import { describe, expect, it } from 'vitest';
import {
  type Backend,
  type Calibration,
  createCache,
  createLowbitKv,
  createPlan,
  defineScheme,
  ERROR_CODES,
  type ErrorCode,
  f16Tensor,
  f32Tensor,
  formatValue,
  LowbitKvError,
  movedError,
  referenceBackend,
  type Scheme,
  schemeFingerprint,
} from '../src/index.js';
import { sharedExponentCodec, tokenIdRange, withSharedExponent } from '../src/testing/index.js';
import { appendIds, GEOMETRY, openCache, pointAt } from './support/pointer-cache.js';
import { scheme, tensor, tokenKeys } from './support/schemes.js';

const one = () => f32Tensor(new Float32Array(64), [1, 1, 64]);
const capacity = { tokens: 100 };

const banded = {
  ...scheme(),
  key: {
    ...tensor({ along: 'vector', codes: 'full' }),
    quantizer: { mode: 'symmetric', codes: 'midRise' },
    outliers: {
      kind: 'bands',
      shares: { outer: 0.1, middle: 0.8, inner: 0.1 },
      groupShift: true,
      outlierBits: 5,
      storage: { format: 'coo64', reserve: 3 },
    },
  },
  calibration: { kind: 'offline', values: ['thresholds'] },
} as unknown as Scheme;
const calibration = (layers = 1): Calibration => ({
  specVersion: 1,
  scheme: schemeFingerprint(banded),
  provenance: {},
  layers: Array.from({ length: layers }, () => ({
    key: { thresholds: { outerLow: -2, outerHigh: 2, innerLow: -0.125, innerHigh: 0.125 } },
  })),
});

const codec = sharedExponentCodec(32);
const coded: Scheme = {
  ...scheme(),
  key: withSharedExponent({ along: 'channels', size: 32 }, 32),
};

const backend = (part: Partial<Backend>): Backend => ({ ...referenceBackend(), ...part });
const open = () => openCache(tokenKeys(), {}, { capacity });

/** One bad input per code; several where there are several doors. */
const provocations: Partial<Record<ErrorCode, (() => unknown)[]>> = {
  SCHEME_INVALID: [() => defineScheme({ ...scheme(), sinks: -1 })],
  SPEC_VERSION_UNSUPPORTED: [() => defineScheme({ ...scheme(), specVersion: 2 as 1 })],
  SCHEME_DUPLICATE: [() => createLowbitKv({ schemes: [scheme(), scheme()] })],
  SCHEME_UNKNOWN: [() => createLowbitKv().schemes.get('kivi')],
  BACKEND_INVALID: [
    () => createLowbitKv({ backends: [{ specVersion: 1, id: 'x' } as Backend] }),
    () => createCache(createPlan(scheme(), GEOMETRY), undefined as never, { capacity }),
  ],
  BACKEND_DUPLICATE: [() => createLowbitKv({ backends: [referenceBackend()] })],
  BACKEND_UNKNOWN: [() => createLowbitKv().backends.get('cuda')],
  BACKEND_UNAVAILABLE: [
    () =>
      createCache(
        createPlan(scheme(), GEOMETRY),
        backend({ probe: async () => ({ ok: false, reason: 'no device', next: 'Buy one.' }) }),
        { capacity },
      ),
  ],
  GEOMETRY_INVALID: [
    () => createPlan(scheme(), { ...GEOMETRY, queryHeads: 3, kvHeads: 2 }),
    () => createPlan(scheme(), { ...GEOMETRY, layers: 0 }),
    () => createPlan(scheme(), undefined as never),
    () => createPlan(scheme(), { ...GEOMETRY, layerOverrides: [{ layers: [1], kvHeads: 1 }] }),
    () => createPlan({ ...scheme(), overrides: [{ layers: [4], key: { bits: 16 } }] }, GEOMETRY),
    () =>
      createPlan(
        { ...scheme(), overrides: [{ layers: [0], heads: [7], key: { bits: 16 } }] },
        GEOMETRY,
      ),
  ],
  SHAPE_UNSUPPORTED: [() => createPlan(scheme(), { ...GEOMETRY, keyHeadDim: 80 })],
  CALIBRATION_MISSING: [() => createPlan(banded, GEOMETRY)],
  CALIBRATION_INVALID: [
    () => createPlan(banded, GEOMETRY, { calibration: calibration(2) }),
    () => createPlan(banded, GEOMETRY, { calibration: { ...calibration(), scheme: 'abc' } }),
    () => createPlan(banded, GEOMETRY, { calibration: { ...calibration(), layers: [{}] } }),
    () => createPlan(banded, GEOMETRY, { calibration: { ...calibration(), extra: 1 } as never }),
    () => createPlan(scheme(), GEOMETRY, { calibration: calibration() }),
    () => planWith({ outerLow: 3, outerHigh: 2, innerLow: -0.125, innerHigh: 0.125 }),
    () => planWith({ outerLow: -2.0001, outerHigh: 2, innerLow: -0.125, innerHigh: 0.125 }),
  ],
  CODEC_MISSING: [() => createPlan(coded, GEOMETRY)],
  CODEC_INVALID: [
    () => createPlan(coded, GEOMETRY, { codecs: [{ ...codec, groupBytes: 8 }] }),
    () => createPlan(coded, GEOMETRY, { codecs: [{ ...codec, encodeGroup: 'no' as never }] }),
    async () => {
      const failing = { ...codec, encodeGroup: () => Number('1').toFixed(200) };
      const plan = createPlan(coded, GEOMETRY, { codecs: [failing as never] });
      const cache = await createCache(plan, referenceBackend(), { capacity });
      const entry = { sequence: cache.createSequence(), tokens: 1 };
      await cache.append([entry], [{ key: one(), value: one() }]);
    },
  ],
  PLAN_REFUSED: [
    () =>
      createCache(
        createPlan(scheme(), GEOMETRY),
        backend({ supports: () => ({ kind: 'refused', reasons: ['no kernel'] }) }),
        { capacity },
      ),
    () =>
      createPlan(
        {
          ...banded,
          key: { ...banded.key, groups: { along: 'vector', scope: 'allHeads' } } as never,
          overrides: [{ layers: [0], heads: [0], value: { bits: 16 } }],
        },
        { ...GEOMETRY, queryHeads: 2, kvHeads: 2 },
      ),
    () =>
      createCache(
        createPlan(scheme(), GEOMETRY),
        backend({ supports: () => ({ kind: 'emulated', reasons: ['slow'] }) }),
        { capacity },
      ),
  ],
  OPTION_INVALID: [
    () => openCache(scheme(), {}, { capacity: { tokens: 0 } }),
    () => openCache(scheme(), {}, { rollback: -1 }),
    () => openCache(scheme(), {}, { nonFinite: 'drop' as 'mask' }),
    () => openCache(scheme(), {}, { rollBack: 3 } as never),
    () => createPlan(scheme(), GEOMETRY, { blockTokens: 0 }),
    () => createPlan(scheme(), GEOMETRY, { blockToken: 32 } as never),
    async () => (await open()).step(undefined as never),
    async () => {
      const cache = await open();
      cache.step([{ sequence: cache.createSequence(), tokens: -1 }]);
    },
    async () => {
      const cache = await open();
      cache.reorder([cache.createSequence()], [1]);
    },
    async () => {
      const cache = await open();
      cache.attend(0, one(), [cache.createSequence()], { queries: [1, 2] });
    },
    async () => {
      const cache = await open();
      cache.attend(0, one(), [cache.createSequence()], { logsumexp: true } as never);
    },
    async () => {
      const cache = await open();
      const sequence = cache.createSequence();
      await appendIds(cache, sequence, [1]);
      cache.attend(0, pointAt(cache, [1, 1, 1, 1]), [sequence], { queries: [2] });
    },
  ],
  TENSOR_INVALID: [
    async () => {
      const cache = await open();
      await cache.append(
        [{ sequence: cache.createSequence(), tokens: 2 }],
        [{ key: one(), value: one() }],
      );
    },
    async () => {
      const cache = await open();
      const data = new Uint16Array(3);
      const short = f16Tensor(data, [1, 1, 64]);
      await cache.append(
        [{ sequence: cache.createSequence(), tokens: 1 }],
        [{ key: short, value: short }],
      );
    },
    async () => {
      const cache = await open();
      const mixed = { type: 'f16', shape: [1, 1, 64], data: new Float32Array(64) } as const;
      await cache.append(
        [{ sequence: cache.createSequence(), tokens: 1 }],
        [{ key: mixed, value: mixed }],
      );
    },
    async () => {
      const cache = await open();
      const device = { type: 'f16', shape: [1, 1, 64], device: 'cuda', handle: 1 } as const;
      await cache.append(
        [{ sequence: cache.createSequence(), tokens: 1 }],
        [{ key: device, value: device }],
      );
    },
    async () => {
      const cache = await open();
      const neither = { type: 'f16', shape: [1, 1, 64] } as never;
      await cache.append(
        [{ sequence: cache.createSequence(), tokens: 1 }],
        [{ key: neither, value: neither }],
      );
    },
    async () => (await open()).attend(5, one(), []),
  ],
  NON_FINITE: [
    async () => {
      const cache = await open();
      const bad = f32Tensor(new Float32Array(64).fill(1e6), [1, 1, 64]);
      await cache.append(
        [{ sequence: cache.createSequence(), tokens: 1 }],
        [{ key: bad, value: one() }],
      );
    },
  ],
  OUT_OF_PAGES: [
    async () => {
      const cache = await open();
      await appendIds(cache, cache.createSequence(), tokenIdRange(0, 1000));
    },
  ],
  OUTLIER_CAPACITY: [
    async () => {
      const plan = createPlan(banded, GEOMETRY, { calibration: calibration() });
      const cache = await createCache(plan, referenceBackend(), { capacity });
      const rows = 20;
      const outliers = f32Tensor(new Float32Array(rows * 64).fill(9), [rows, 1, 64]);
      await cache.append(
        [{ sequence: cache.createSequence(), tokens: rows }],
        [{ key: outliers, value: outliers }],
      );
    },
  ],
  STEP_STATE: [
    async () => {
      const cache = await open();
      await cache.step([{ sequence: cache.createSequence(), tokens: 1 }]).commit();
    },
  ],
  SEQUENCE_STATE: [
    async () => {
      const cache = await open();
      const sequence = cache.createSequence();
      cache.disposeSequence(sequence);
      cache.fork(sequence);
    },
    async () => (await open()).truncate((await open()).createSequence(), 0),
  ],
  CACHE_DISPOSED: [
    async () => {
      const cache = await open();
      cache.dispose();
      cache.createSequence();
    },
  ],
  TRUNCATE_INVALID: [
    async () => {
      const cache = await open();
      cache.truncate(cache.createSequence(), 1);
    },
    async () => {
      const cache = await openCache(tokenKeys(), { slidingWindow: { size: 32, sinks: 4 } });
      const sequence = cache.createSequence();
      await appendIds(cache, sequence, tokenIdRange(0, 300), { chunk: 1 });
      cache.truncate(sequence, 150);
    },
  ],
  SNAPSHOT_INVALID: [async () => (await open()).restore(new Uint8Array(100))],
  SNAPSHOT_MISMATCH: [
    async () => {
      const other = await openCache(scheme());
      await (await open()).restore(await other.snapshot([]));
    },
  ],
  BACKEND_FAILED: [
    () =>
      createCache(
        createPlan(scheme(), GEOMETRY),
        backend({
          createStore: async () => {
            throw new RangeError('Array buffer allocation failed');
          },
        }),
        { capacity },
      ),
    () => openCache(scheme(), {}, { capacity: { tokens: 2 ** 50 } }),
  ],
};

function planWith(thresholds: {
  outerLow: number;
  outerHigh: number;
  innerLow: number;
  innerHigh: number;
}) {
  createPlan(banded, GEOMETRY, {
    calibration: { ...calibration(), layers: [{ key: { thresholds } }] },
  });
}

/** Codes of other packages, or raised where their own tests are. */
const ELSEWHERE: readonly ErrorCode[] = [
  'BLOCK_INVALID',
  'SAFETENSORS_INVALID',
  'CAPTURE_INVALID',
  'MEASUREMENT_INVALID',
  'SHARD_INVALID',
  'MERGE_REFUSED',
  'FILE_NOT_WRITTEN',
  'MODEL_INVALID',
  'MODEL_UNSUPPORTED',
  'MODEL_DOWNLOAD',
  'TOKENIZER_INVALID',
  'SCHEME_NOT_FOUND',
  'PEER_MISSING',
  'DEVICE_LOST',
  'DEVICE_OUT_OF_MEMORY',
  'DEVICE_RESOURCE_STATE',
  'KERNEL_IMAGE_INVALID',
  'CONFIG_INVALID',
];

it('has a bad input for every code of core', () => {
  const raised = Object.keys(provocations);
  expect([...raised, ...ELSEWHERE].sort()).toEqual(Object.keys(ERROR_CODES).sort());
});

const rows = Object.entries(provocations).flatMap(([code, inputs]) =>
  (inputs ?? []).map((provoke, i) => ({ code: code as ErrorCode, i, provoke })),
);

it.each(rows)('$code, input $i', async ({ code, provoke }) => {
  const error = await (async () => provoke())().then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!LowbitKvError.is(error)) throw new Error(`not a LowbitKvError: ${String(error)}`);
  expect(error.code, error.message).toBe(code);
  expect(LowbitKvError.is(error, code)).toBe(true);
  expect(error).toHaveProperty('value');
  expect(error.valid).toBeDefined();
  if (!Array.isArray(error.valid)) expect(error.valid).not.toBe('');
  expect(error.next).toMatch(/^[A-Z].*[.?]$/);
  expect(error.message.startsWith(`${code}: `)).toBe(true);
  expect(error.message).toContain(error.next);
  expect(error.message).toContain('; valid: ');
  expect(error.message).toContain(`; got ${formatValue(error.value)}`);
  expect(error.message).not.toMatch(/undefined reading|\[object Object\]|Invalid input/);
  expect(error.message.length).toBeLessThan(900);
  expect(error.message).not.toContain('\n');
});

describe('LowbitKvError', () => {
  const make = (where: NonNullable<LowbitKvError['where']>) =>
    new LowbitKvError('NON_FINITE', {
      message: 'bad.',
      value: Number.NaN,
      valid: 'x',
      next: 'Do.',
      where,
    });

  it('prints the position in a fixed order, as far as it is known', () => {
    expect(
      make({ channel: 5, token: 4, head: 3, sequence: 2, layer: 1, tensor: 'key' }).message,
    ).toBe(
      'NON_FINITE: bad (tensor "key", layer 1, sequence 2, head 3, token 4, channel 5); got NaN; valid: x. Do.',
    );
    expect(make({ extra: 1, layer: 0, head: undefined } as never).message).toContain(
      '(layer 0, extra 1)',
    );
  });

  it('is recognised across copies of core, and nothing else is', () => {
    // What a second copy of core makes: another class with the same registered symbol.
    class Foreign extends Error {
      readonly code = 'STEP_STATE';
      constructor() {
        super();
        Object.assign(this, { [Symbol.for('@lowbit-kv/core:error')]: true });
      }
    }
    expect(LowbitKvError.is(new Foreign())).toBe(true);
    expect(LowbitKvError.is(new Foreign(), 'STEP_STATE')).toBe(true);
    expect(LowbitKvError.is(new Foreign(), 'NON_FINITE')).toBe(false);
    expect(new Foreign() instanceof LowbitKvError).toBe(false);
    for (const other of [new Error('x'), null, undefined, 'x', { code: 'STEP_STATE' }])
      expect(LowbitKvError.is(other)).toBe(false);
  });

  it('keeps its cause', () => {
    const cause = new Error('below');
    const error = new LowbitKvError('BACKEND_FAILED', {
      message: 'm',
      value: 1,
      next: 'N.',
      cause,
    });
    expect(error.cause).toBe(cause);
    expect(error.name).toBe('LowbitKvError');
    expect('cause' in make({})).toBe(false);
  });
});

it('shortens what a file may have made long', () => {
  const long = 'x'.repeat(100_000);
  const error = new LowbitKvError('MODEL_INVALID', {
    message: `no file ${long}`,
    value: long,
    valid: Array.from({ length: 5000 }, (_, i) => `file ${i}`),
    next: `Put ${long} there.`,
  });
  expect(error.message.length).toBeLessThan(8000);
  expect(error.message).toContain('"file 199", and 4800 more');
  expect(error.message.endsWith(error.next)).toBe(true);
  const rule = new LowbitKvError('MODEL_INVALID', { message: 'a', valid: long, next: 'b.' });
  expect(rule.message.length).toBeLessThan(1100);
});

describe('formatValue', () => {
  const cyclic: Record<string, unknown> = {};
  cyclic.self = cyclic;
  it.each([
    [-0, '-0'],
    [Number.NaN, 'NaN'],
    [10n, '10'],
    [undefined, 'undefined'],
    ['a\nb', '"a\\nb"'],
    [Symbol('s'), 'Symbol(s)'],
    [() => 'a long body', 'function'],
    [cyclic, '[object Object]'],
    [{ a: 1n, b: Number.POSITIVE_INFINITY }, '{"a":"1","b":"Infinity"}'],
    [new Float32Array(1 << 20), 'Float32Array(4194304 bytes)'],
    [{ data: new Uint16Array(4) }, '{"data":"Uint16Array(8 bytes)"}'],
  ])('%s', (value, text) => {
    expect(formatValue(value)).toBe(text);
  });

  it('shortens', () => {
    expect(formatValue('x'.repeat(500)).length).toBeLessThan(130);
    expect(formatValue(Array(500).fill(1)).length).toBeLessThan(165);
  });
});

it('a moved error says its place in the whole, and where it came from', () => {
  const error = new LowbitKvError('NON_FINITE', {
    message: 'a key is not finite',
    value: Number.NaN,
    valid: 'finite numbers',
    next: 'Check the model.',
    where: { layer: 0, token: 7 },
  });
  const moved = movedError(error, { layer: 18 });
  expect(moved).toMatchObject({ code: 'NON_FINITE', valid: 'finite numbers', cause: error });
  expect(moved.where).toEqual({ layer: 18, token: 7 });
  expect(moved.message).toBe(error.message.replace('layer 0', 'layer 18'));
});
