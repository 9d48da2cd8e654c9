// From a scheme to a plan that carries its codecs: looked up by id and version, checked, and in the fingerprint.
import { describe, expect, test } from 'vitest';
import type { GroupCodec } from '../../src/codec.js';
import {
  createCache,
  createLowbitKv,
  createPlan,
  defineScheme,
  f16Tensor,
  type Geometry,
  LowbitKvError,
  referenceBackend,
  type Scheme,
  schemeDataOf,
} from '../../src/index.js';
import {
  inlineScheme,
  lcgNormal,
  sharedExponentCodec,
  withSharedExponent,
} from '../../src/testing/index.js';

const codec = sharedExponentCodec(16);
const scheme = defineScheme(
  inlineScheme({
    key: withSharedExponent({ along: 'channels', size: 16 }, 16),
    value: { bits: 16 },
    codecs: [codec],
  }),
);
const geometry: Geometry = {
  layers: 2,
  queryHeads: 2,
  kvHeads: 1,
  keyHeadDim: 32,
  valueHeadDim: 32,
};

function refusal(act: () => unknown): LowbitKvError {
  try {
    act();
  } catch (error) {
    if (LowbitKvError.is(error)) return error;
    throw error;
  }
  return expect.fail('nothing was refused');
}

const withCodecs = (...codecs: Partial<GroupCodec>[]) =>
  ({ ...scheme, codecs: codecs.map((change) => ({ ...codec, ...change })) }) as Scheme;

describe('a scheme keeps its codecs', () => {
  test('frozen copies, in the registry too', () => {
    expect(scheme.codecs).toEqual([codec]);
    expect(scheme.codecs?.[0]).not.toBe(codec);
    expect(Object.isFrozen(scheme.codecs) && Object.isFrozen(scheme.codecs?.[0])).toBe(true);
    expect(Object.isFrozen(codec)).toBe(false);
    const lowbit = createLowbitKv({ schemes: [scheme] });
    expect(lowbit.schemes.get(scheme.id).codecs).toEqual([codec]);
    expect(lowbit.plan(scheme.id, geometry).layers[1]?.key.codec).toEqual(codec);
  });

  test('but not as data', () => {
    expect(schemeDataOf(scheme)).not.toHaveProperty('codecs');
    expect(createPlan(scheme, geometry).scheme).not.toHaveProperty('codecs');
  });
});

describe('a plan carries the codec of each tensor that names one', () => {
  test('from the scheme, or from the options when the scheme comes from JSON', () => {
    const plan = createPlan(scheme, geometry);
    expect(plan.layers.map(({ key, value }) => [key.codec, value.codec])).toEqual([
      [codec, undefined],
      [codec, undefined],
    ]);
    const data = JSON.parse(JSON.stringify(schemeDataOf(scheme)));
    const again = createPlan(data, geometry, { codecs: [codec, sharedExponentCodec(8)] });
    expect(again.fingerprint).toBe(plan.fingerprint);
    const missing = refusal(() => createPlan(data, geometry, { codecs: [sharedExponentCodec(8)] }));
    expect(missing.code).toBe('CODEC_MISSING');
    expect(missing.valid).toEqual(['shared-exponent-8, version 1']);
    expect(missing.where).toEqual({ tensor: 'key', layer: 0 });
    expect(missing.next).toContain('codecs');
  });

  test('the fingerprint is of everything but the source of the functions', () => {
    const { fingerprint } = createPlan(scheme, geometry);
    const other = (change: Partial<GroupCodec>) =>
      createPlan(withCodecs(change), geometry).fingerprint;
    expect(other({ decodeGroup: (_bytes, values) => void values.fill(0) })).toBe(fingerprint);
    expect(other({ wgsl: 'fn decodeGroup' })).not.toBe(fingerprint);
    expect(other({ cuda: 'void decodeGroup' })).not.toBe(fingerprint);
    expect(other({ wgsl: 'a' })).not.toBe(other({ cuda: 'a' }));
  });

  test('a snapshot restores into a plan made from data and codecs', async () => {
    const capacity = { tokens: 64 };
    const cache = await createCache(createPlan(scheme, geometry), referenceBackend(), { capacity });
    const sequence = cache.createSequence();
    const shape = [21, 1, 32];
    const rows = (seed: number) => f16Tensor(lcgNormal({ seed, shape, dtype: 'f16' }), shape);
    const layers = [0, 1].map((layer) => ({ key: rows(layer), value: rows(9 + layer) }));
    await cache.append([{ sequence, tokens: 21 }], layers);
    const data = JSON.parse(JSON.stringify(cache.plan.scheme));
    const other = await createCache(
      createPlan(data, geometry, { codecs: [codec] }),
      referenceBackend(),
      { capacity },
    );
    const [restored] = await other.restore(await cache.snapshot([sequence]));
    if (restored === undefined) return expect.fail('nothing was restored');
    const [expected, actual] = await Promise.all([
      cache.materialize(sequence, 1),
      other.materialize(restored, 1),
    ]);
    expect(actual.key.data).toEqual(expected.key.data);
    expect(expected.key.data).not.toEqual(rows(1).data);
  });
});

describe('CODEC_INVALID', () => {
  test.each<[string, Scheme, string]>([
    ['no functions', withCodecs({ encodeGroup: undefined } as never), 'encodeGroup'],
    ['functions lost in JSON', JSON.parse(JSON.stringify(scheme)), 'encodeGroup'],
    ['no id', withCodecs({ id: 'Shared Exponent' }), 'id'],
    ['no whole size', withCodecs({ groupSize: 1.5 }), 'groupSize'],
    ['no bytes', withCodecs({ groupBytes: 0 }), 'groupBytes'],
    ['an unknown field', withCodecs({ glsl: 'x' } as never), 'glsl'],
    ['empty text', withCodecs({ wgsl: '' }), 'wgsl'],
    ['no list', { ...scheme, codecs: codec } as never, 'codecs'],
    ['twice the same', withCodecs({}, {}), 'same id and version'],
  ])('%s', (_name, wrong, message) => {
    for (const act of [() => defineScheme(wrong), () => createPlan(wrong, geometry)]) {
      const error = refusal(act);
      expect(error.code).toBe('CODEC_INVALID');
      expect(error.message).toContain(message);
    }
  });

  test('the same codec in the scheme and in the options', () => {
    const error = refusal(() => createPlan(scheme, geometry, { codecs: [codec] }));
    expect(error.code).toBe('CODEC_INVALID');
  });

  test('sizes that are not those of the tensor', () => {
    const size = refusal(() => createPlan(withCodecs({ groupSize: 8 }), geometry));
    expect(size).toMatchObject({ code: 'CODEC_INVALID', value: 8, valid: '16 elements' });
    const bytes = refusal(() => createPlan(withCodecs({ groupBytes: 8 }), geometry));
    expect(bytes).toMatchObject({ code: 'CODEC_INVALID', value: 8 });
    expect(bytes.valid).toContain('9 bytes');
  });

  test('a vector codec for another head dim does not fit the model', () => {
    const vectors = inlineScheme({
      key: withSharedExponent({ along: 'vector', scope: 'head' }, 64),
      value: { bits: 16 },
      codecs: [sharedExponentCodec(64)],
    });
    expect(refusal(() => createPlan(vectors, geometry)).code).toBe('SHAPE_UNSUPPORTED');
  });
});

test('another version is another codec', () => {
  const error = refusal(() => createPlan(withCodecs({ version: 2 }), geometry));
  expect(error.code).toBe('CODEC_MISSING');
});

test.each([
  ['outliers', { outliers: { kind: 'top', count: 1, storage: { format: 'list' } } }],
  ['parameters.scale', { parameters: { scale: 'f16' } }],
  ['parameters.zero', { parameters: { zero: 'f16' } }],
])('a codec leaves no room for %s', (field, change) => {
  const key = { ...scheme.key, ...change } as Scheme['key'];
  const error = refusal(() => defineScheme({ ...scheme, key }));
  expect(error).toMatchObject({ code: 'SCHEME_INVALID', where: { field: `key.${field}` } });
});
