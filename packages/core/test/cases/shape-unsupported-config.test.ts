// Case shape-unsupported-config: what no kernel serves is refused at set-up, with the field and what would do.
import { describe, expect, it } from 'vitest';
import {
  type Backend,
  createCache,
  createLowbitKv,
  createPlan,
  type Geometry,
  LowbitKvError,
  referenceBackend,
  type Scheme,
} from '../../src/index.js';
import { GEOMETRY, openCache } from '../support/pointer-cache.js';
import { scheme, tensor, tokenKeys } from '../support/schemes.js';
import { loadCase } from '../testing/load-case.js';

type Request = Readonly<Record<string, unknown>>;
const { input } = loadCase<{ requests: Request[] }, unknown>('shape-unsupported-config');

/** A backend that counts what it allocates. */
function counting(): { backend: Backend; stores: () => number } {
  let stores = 0;
  const backend: Backend = {
    ...referenceBackend(),
    createStore: (plan, options) => {
      stores++;
      return referenceBackend().createStore(plan, options);
    },
  };
  return { backend, stores: () => stores };
}

interface Refusal {
  readonly request: Request;
  readonly build: () => { scheme: Scheme; geometry?: Partial<Geometry> };
  readonly code: string;
  readonly field: string;
  readonly supported: RegExp;
}

const refusals: Refusal[] = [
  {
    request: { bits: 5 },
    build: () => ({ scheme: scheme({ key: { bits: 5 as 4 } }) }),
    code: 'SCHEME_INVALID',
    field: 'key.bits',
    supported: /valid: 16, 1, 2, 3, 4, 8/,
  },
  {
    request: { bits: 4, groupSize: 48, D: 64 },
    build: () => ({ scheme: scheme({ key: { size: 48 } }) }),
    code: 'SHAPE_UNSUPPORTED',
    field: 'group size',
    supported: /valid: group sizes 8, 16, 32, 64/,
  },
  {
    request: { groupSize: 0 },
    build: () => ({ scheme: scheme({ key: { size: 0 } }) }),
    code: 'SCHEME_INVALID',
    field: 'key.groups.size',
    supported: /valid: at least 1/,
  },
  {
    request: { groupSize: -32 },
    build: () => ({ scheme: scheme({ value: { size: -32 } }) }),
    code: 'SCHEME_INVALID',
    field: 'value.groups.size',
    supported: /valid: at least 1/,
  },
  {
    request: { D: 0 },
    build: () => ({ scheme: scheme(), geometry: { keyHeadDim: 0 } }),
    code: 'GEOMETRY_INVALID',
    field: 'keyHeadDim',
    supported: /valid: at least 1/,
  },
  {
    request: { Hq: 7, Hk: 2 },
    build: () => ({ scheme: scheme(), geometry: { queryHeads: 7, kvHeads: 2 } }),
    code: 'GEOMETRY_INVALID',
    field: 'queryHeads',
    supported: /a multiple of 2/,
  },
  {
    request: { dtype: 'f64' },
    build: () => {
      const key = { ...tensor(), parameters: { scale: 'f64', zero: 'f16' } };
      return { scheme: { ...scheme(), key } as unknown as Scheme };
    },
    code: 'SCHEME_INVALID',
    field: 'key.parameters.scale',
    supported: /valid: "f16", "f32", "e4m3", "e8m0"/,
  },
  {
    request: { kScheme: 'kivi', vScheme: 'does-not-exist' },
    build: () => ({
      scheme: createLowbitKv({ schemes: [scheme()] }).schemes.get('does-not-exist'),
    }),
    code: 'SCHEME_UNKNOWN',
    field: 'does-not-exist',
    supported: /valid: "test-scheme"/,
  },
  {
    request: { bits: 4, D: 63 },
    build: () => ({ scheme: tokenKeys(), geometry: { keyHeadDim: 63, valueHeadDim: 63 } }),
    code: 'SHAPE_UNSUPPORTED',
    field: 'group size',
    supported: /valid: group sizes 9, 21, 63/,
  },
  {
    request: { residual: -1 },
    build: () => ({ scheme: tokenKeys({ residual: -1 }) }),
    code: 'SCHEME_INVALID',
    field: 'key.window.recent',
    supported: /valid: at least 0/,
  },
  {
    request: { residual: 100, groupSize: 32 },
    build: () => ({ scheme: scheme({ key: { along: 'tokens', size: 32, flush: 100 } }) }),
    code: 'SCHEME_INVALID',
    field: 'key.window.flush',
    supported: /a multiple of the group size 32/,
  },
  {
    request: { learnedSinks: true, kernelHasSinks: false },
    build: () => ({ scheme: scheme(), geometry: { learnedSinks: true } as Partial<Geometry> }),
    code: 'GEOMETRY_INVALID',
    field: 'learnedSinks',
    supported: /valid: "layers", .*"slidingWindow"/,
  },
];

it('covers every request of the case', () => {
  expect(refusals.map(({ request }) => request)).toEqual(input.requests);
});

describe.each(refusals)('$request', ({ build, code, field, supported }) => {
  it('is refused before anything is allocated', async () => {
    const { backend, stores } = counting();
    const attempt = async () => {
      const { scheme: spec, geometry = {} } = build();
      await createCache(createPlan(spec, { ...GEOMETRY, ...geometry }), backend, {
        capacity: { tokens: 64 },
      });
    };
    const error = await attempt().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    if (!LowbitKvError.is(error)) throw new Error(`not refused: ${String(error)}`);
    expect(error.code).toBe(code);
    expect(error.message).toContain(field);
    expect(error.message).toMatch(supported);
    expect(stores()).toBe(0);
  });
});

it('refuses a tensor type no backend knows, and stores nothing', async () => {
  const cache = await openCache(scheme());
  const sequence = cache.createSequence();
  const data = new Float64Array(64);
  const f64 = { type: 'f64', shape: [1, 1, 64], data } as never;
  await expect(
    cache.append([{ sequence, tokens: 1 }], [{ key: f64, value: f64 }]),
  ).rejects.toMatchObject({ code: 'TENSOR_INVALID', value: 'f64', valid: ['f32', 'f16', 'bf16'] });
  expect(sequence.length).toBe(0);
  expect((await cache.stats()).bytes.live).toBe(0);
});

it('takes a residual that is no multiple of the group as what it is', async () => {
  const cache = await openCache(tokenKeys({ residual: 100 }));
  expect(cache.plan.classes[0]).toMatchObject({ recent: 100, flush: 32 });
});
