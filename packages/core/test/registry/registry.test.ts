// The registry: one door for everybody's schemes and backends, and errors that list what is registered.
import { describe, expect, it } from 'vitest';
import {
  type Backend,
  createLowbitKv,
  LowbitKvError,
  referenceBackend,
  type Scheme,
} from '../../src/index.js';
import { GEOMETRY } from '../support/pointer-cache.js';
import { channelKeys, scheme, tokenKeys } from '../support/schemes.js';

const backend = (id: string): Backend => ({ ...referenceBackend(), id });

function refusal(act: () => unknown): LowbitKvError {
  try {
    act();
  } catch (error) {
    if (LowbitKvError.is(error)) return error;
    throw error;
  }
  throw new Error('accepted');
}

describe('createLowbitKv', () => {
  it('refuses what is no list, no backend, or no options, by name', async () => {
    for (const field of ['schemes', 'backends']) {
      const error = refusal(() => createLowbitKv({ [field]: tokenKeys() } as never));
      expect(error).toMatchObject({ code: 'OPTION_INVALID', where: { field } });
      expect(error.next).toContain('[...]');
    }
    const empty = refusal(() => createLowbitKv({ backends: [{} as Backend] }));
    expect(empty.code).toBe('BACKEND_INVALID');
    const kv = createLowbitKv({ schemes: [tokenKeys()] });
    const plan = kv.plan('token-keys-4bit', GEOMETRY);
    await expect(kv.createCache(plan, undefined as never)).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      where: { field: 'capacity' },
    });
  });

  it('registers schemes and backends, flattens arrays and skips what is switched off', async () => {
    const kv = createLowbitKv({
      schemes: [tokenKeys(), [channelKeys(), scheme()], false, null, undefined],
      backends: [backend('other'), false, null, undefined],
    });
    expect(kv.schemes.list().map(({ id }) => id)).toEqual([
      'token-keys-4bit',
      'channel-keys-4bit',
      'test-scheme',
    ]);
    expect(kv.backends.list().map(({ id }) => id)).toEqual(['reference', 'other']);
    expect(Object.isFrozen(kv.schemes.get('test-scheme').key)).toBe(true);
    const plan = kv.plan('token-keys-4bit', GEOMETRY);
    expect(plan.fingerprint).toBe(kv.plan(tokenKeys(), GEOMETRY).fingerprint);
    const options = { capacity: { tokens: 64 } };
    for (const chosen of [options, { ...options, backend: 'other' }]) {
      const cache = await kv.createCache(plan, chosen);
      expect(cache.plan).toBe(plan);
    }
  });

  it('has the reference backend and no scheme of its own', () => {
    const kv = createLowbitKv();
    expect(kv.schemes.list()).toEqual([]);
    expect(kv.backends.list().map(({ id }) => id)).toEqual(['reference']);
    expect(refusal(() => kv.schemes.get('kivi'))).toMatchObject({
      code: 'SCHEME_UNKNOWN',
      valid: [],
      message: expect.stringContaining('valid: nothing'),
    });
  });

  it('two instances know nothing of each other', () => {
    createLowbitKv({ schemes: [tokenKeys()] });
    expect(createLowbitKv({ schemes: [scheme()] }).schemes.list()).toHaveLength(1);
  });

  it('unknown ids list what is registered and guess', async () => {
    const kv = createLowbitKv({ schemes: [tokenKeys(), channelKeys()] });
    const error = refusal(() => kv.schemes.get('token-key-4bit'));
    expect(error).toMatchObject({
      code: 'SCHEME_UNKNOWN',
      value: 'token-key-4bit',
      valid: ['token-keys-4bit', 'channel-keys-4bit'],
    });
    expect(error.next).toContain('Did you mean "token-keys-4bit"?');
    expect(refusal(() => kv.plan('zzz', GEOMETRY)).next).not.toContain('Did you mean');
    const plan = kv.plan('token-keys-4bit', GEOMETRY);
    await expect(
      kv.createCache(plan, { capacity: { tokens: 64 }, backend: 'referense' }),
    ).rejects.toMatchObject({
      code: 'BACKEND_UNKNOWN',
      valid: ['reference'],
      next: expect.stringContaining('Did you mean "reference"?'),
    });
  });

  it('duplicates list what is registered', () => {
    const copy = { ...channelKeys(), id: 'token-keys-4bit' };
    expect(refusal(() => createLowbitKv({ schemes: [scheme(), tokenKeys(), copy] }))).toMatchObject(
      {
        code: 'SCHEME_DUPLICATE',
        value: 'token-keys-4bit',
        valid: 'ids other than test-scheme, token-keys-4bit',
      },
    );
    expect(refusal(() => createLowbitKv({ backends: [backend('reference')] }))).toMatchObject({
      code: 'BACKEND_DUPLICATE',
      value: 'reference',
      valid: 'ids other than reference',
    });
  });

  it('a wrong specVersion lists what is registered', () => {
    const old = { ...scheme(), specVersion: 0 } as unknown as Scheme;
    expect(refusal(() => createLowbitKv({ schemes: [tokenKeys(), old] }))).toMatchObject({
      code: 'SPEC_VERSION_UNSUPPORTED',
      value: 0,
      valid: [1],
      where: { registered: ['token-keys-4bit'] },
      message: expect.stringMatching(/"test-scheme".*registered \["token-keys-4bit"\]/),
    });
    const future = { ...backend('future'), specVersion: 2 } as unknown as Backend;
    expect(refusal(() => createLowbitKv({ backends: [future] }))).toMatchObject({
      code: 'SPEC_VERSION_UNSUPPORTED',
      value: 2,
      where: { registered: ['reference'] },
    });
  });

  it.each([
    ['webgpu', /must be an object/],
    [7, /must be an object/],
    [{ ...backend('x'), id: 'Not An Id' }, /id is not valid/],
    [{ ...backend('x'), id: undefined }, /id is not valid/],
    [{ specVersion: 1, id: 'empty' }, /lacks probe, supports, createStore/],
    [{ ...backend('x'), probe: 'yes' }, /lacks probe/],
  ])('a backend that is %j', (wrong, text) => {
    const error = refusal(() => createLowbitKv({ backends: [wrong as unknown as Backend] }));
    expect(error.code).toBe('BACKEND_INVALID');
    expect(error.message).toMatch(text);
  });

  it.each([['kivi'], [7], [{}], [() => tokenKeys()]])('a scheme that is %s', (wrong) => {
    const error = refusal(() => createLowbitKv({ schemes: [wrong as unknown as Scheme] }));
    expect(['SCHEME_INVALID', 'SPEC_VERSION_UNSUPPORTED']).toContain(error.code);
  });

  it('a misspelt option', () => {
    const error = refusal(() => createLowbitKv({ scheme: [scheme()] } as never));
    expect(error).toMatchObject({ code: 'OPTION_INVALID', value: 'scheme' });
    expect(error.next).toContain('Did you mean "schemes"?');
  });
});
