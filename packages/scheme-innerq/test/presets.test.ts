// What the package promises of its schemes: ids, frozen data, JSON round trip, stable fingerprints, refused options.
import { createLowbitKv, defineScheme, schemeFingerprint } from '@lowbit-kv/core';
import { expect, test } from 'vitest';
import { innerq, presets } from '../src/index.js';

// A change here orphans every stored snapshot of the preset.
const FINGERPRINTS: Record<string, string> = {
  'innerq-base': '40a02830882f45a2071c849a3c23238be5f87e0e2222888b554fc5281f8dd558',
  'innerq-small': '4464f4ddb11486dce36f6de4b0716f0de6a4b333c12be74c549c14c097b66506',
  'innerq-hybrid': '3d299e47308a93250fe6adc7f401668f881c525dd535f28a3894b9298f788e9f',
  'innerq-base-full-signed': '28b415ddf5539c096210ba481f1ac2dca4962f9fea44666a3de8be34378e8e70',
  'innerq-small-full-signed': '54e93faa491d0f19d1a70c0b3be18c9c782cf327b2f9dc601c61543df0965c13',
};

test('ids', () => {
  expect(presets.map(({ id }) => id)).toEqual(Object.keys(FINGERPRINTS));
});

test.each(presets)('$id keeps its fingerprint', (scheme) => {
  expect(schemeFingerprint(scheme)).toBe(FINGERPRINTS[scheme.id]);
});

test.each(presets)('$id is frozen to the bottom and survives JSON', (scheme) => {
  expect(Object.isFrozen(scheme)).toBe(true);
  expect(scheme.key.bits !== 16 && Object.isFrozen(scheme.key.transforms?.[0])).toBe(true);
  const copy = defineScheme(JSON.parse(JSON.stringify(scheme)));
  expect(copy).toEqual(scheme);
  expect(schemeFingerprint(copy)).toBe(schemeFingerprint(scheme));
});

test('the list is frozen and registers as it is', () => {
  expect(Object.isFrozen(presets)).toBe(true);
  const kit = createLowbitKv({ schemes: presets });
  expect(kit.schemes.get('innerq-hybrid')).toEqual(presets[2]);
});

test('options name what they are', () => {
  expect(innerq({ variant: 'small', codes: 'signmag', keyFlush: 1 }).id).toBe(
    'innerq-small-signmag-key-flush-1',
  );
  expect(innerq({ variant: 'base', sinks: 4, recent: 64, normalizeKeys: false }).id).toBe(
    'innerq-base-s4-r64-plain-keys',
  );
  expect(innerq({ variant: 'base', statisticsTokens: 256 }).id).toBe('innerq-base-n256');
  expect(innerq({ variant: 'base', id: 'mine' }).id).toBe('mine');
});

test('hybrid follows its code set', () => {
  const quantizerOf = (codes: 'full' | 'signmag') => {
    const { value } = innerq({ variant: 'hybrid', codes });
    return value.bits === 16 ? undefined : value.quantizer;
  };
  expect(quantizerOf('full')).toMatchObject({ asymmetricBits: 2, tie: 'symmetric' });
  expect(quantizerOf('signmag')).toMatchObject({ asymmetricBits: 1, tie: 'asymmetric' });
});

test.each([
  [{ variant: 'large' }, 'variant'],
  [{ variant: 'base', codes: 'unsigned' }, 'codes'],
  [{ variant: 'hybrid', codes: 'fullSigned' }, 'signed scales'],
  [{ variant: 'base', keyFlush: 16 }, 'keyFlush'],
  [{ variant: 'base', sinks: -1 }, 'sinks'],
  [{ variant: 'base', recent: 1.5 }, 'recent'],
  [{ variant: 'base', statisticsTokens: 0 }, 'statisticsTokens'],
  [{ variant: 'base', window: 96 }, 'window'],
])('%j is refused', (options, field) => {
  expect(() => innerq(options as never)).toThrow(
    expect.objectContaining({ code: 'OPTION_INVALID', message: expect.stringContaining(field) }),
  );
});
