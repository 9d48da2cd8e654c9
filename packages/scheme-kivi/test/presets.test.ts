// What the package promises of its schemes: ids, frozen data, JSON round trip, stable fingerprints, refused options.
import { createLowbitKv, defineScheme, schemeFingerprint } from '@lowbit-kv/core';
import { expect, test } from 'vitest';
import { kivi, presets } from '../src/index.js';

// A change here orphans every stored snapshot of the preset.
const FINGERPRINTS: Record<string, string> = {
  'kivi-2bit-g32': '1d0114b91d4c4dd7faad6d39f1e2bce37b75882a18c4824e33762632a63c752f',
  'kivi-4bit-g32': 'c7217e067d90938b6d163b68ff6cfc12e6b1f9e90deb49842fcc484761a7516b',
  'kivi-2bit-g64': '31613a87f95e03f48ffe26e76833aa12995fd22a83bce2b00f100afa1f27364e',
  'kivi-4bit-g64': '96b20b9f70f36971cfa7a876ace26a885293d6ff93beac1ce7ab4e27402a139a',
  'kivi-2bit-g128': '71ae968a8cf83e760f69de53dafc0312d098a7c80cf31970c1c1a39d06a4b77d',
  'kivi-4bit-g128': 'e4fc4c5724f3acf626028fb7702e4dee3b9d4c0ecfc437988e6fe8f28e93c019',
};

test('ids', () => {
  expect(presets.map(({ id }) => id)).toEqual(Object.keys(FINGERPRINTS));
});

test.each(presets)('$id keeps its fingerprint', (scheme) => {
  expect(schemeFingerprint(scheme)).toBe(FINGERPRINTS[scheme.id]);
});

test.each(presets)('$id is frozen to the bottom and survives JSON', (scheme) => {
  expect(Object.isFrozen(scheme)).toBe(true);
  expect(Object.isFrozen(scheme.key)).toBe(true);
  expect(scheme.key.bits !== 16 && Object.isFrozen(scheme.key.window)).toBe(true);
  const copy = defineScheme(JSON.parse(JSON.stringify(scheme)));
  expect(copy).toEqual(scheme);
  expect(schemeFingerprint(copy)).toBe(schemeFingerprint(scheme));
});

test('the list is frozen and registers as it is', () => {
  expect(Object.isFrozen(presets)).toBe(true);
  const kit = createLowbitKv({ schemes: presets });
  expect(kit.schemes.get('kivi-4bit-g64')).toEqual(presets[3]);
});

test('options name what they are', () => {
  expect(kivi({ bits: 2, residualLength: 64 }).id).toBe('kivi-2bit-g32-r64');
  expect(kivi({ bits: 4, id: 'mine' }).id).toBe('mine');
});

test.each([
  [{ bits: 3 }, 'bits'],
  [{ bits: 2, groupSize: 48 }, 'groupSize'],
  [{ bits: 2, residualLength: 0 }, 'residualLength'],
  [{ bits: 2, residual: 128 }, 'residual'],
  [{}, 'bits'],
])('%j is refused', (options, field) => {
  expect(() => kivi(options as never)).toThrow(
    expect.objectContaining({ code: 'OPTION_INVALID', message: expect.stringContaining(field) }),
  );
});
