// What the package promises of its schemes: ids, frozen data, JSON round trip, stable fingerprints, refused options.
import { createLowbitKv, defineScheme, schemeFingerprint } from '@lowbit-kv/core';
import { expect, test } from 'vitest';
import { oaken, presets } from '../src/index.js';

// A change here orphans every stored calibration and snapshot of the preset.
const FINGERPRINTS: Record<string, string> = {
  'oaken-sm': 'e09d48036fc5b6d4ef37e96c90cfe8a68e5161f400be39a2522657ce846d95a5',
  'oaken-mm': 'e0a3c39b0d18e5e69fdec62a52869c52fdc9a8c2abb52d536241c53b44a5ac0c',
  'oaken-sm-token': '0e0b09b6e621edbcd42c5380db7c7adda185e7409a7b74ecf20fbf51103ed192',
};

test('ids', () => {
  expect(presets.map(({ id }) => id)).toEqual(Object.keys(FINGERPRINTS));
});

test.each(presets)('$id keeps its fingerprint', (scheme) => {
  expect(schemeFingerprint(scheme)).toBe(FINGERPRINTS[scheme.id]);
});

test.each(presets)('$id is frozen to the bottom and survives JSON', (scheme) => {
  expect(Object.isFrozen(scheme)).toBe(true);
  expect(scheme.key.bits !== 16 && Object.isFrozen(scheme.key.outliers)).toBe(true);
  const { calibrate, ...data } = scheme;
  expect(calibrate).toBeTypeOf('function');
  const copy = defineScheme(JSON.parse(JSON.stringify(scheme)));
  expect(copy).toEqual(data);
  expect(schemeFingerprint(copy)).toBe(schemeFingerprint(scheme));
});

test('the list is frozen and registers as it is', () => {
  expect(Object.isFrozen(presets)).toBe(true);
  const kit = createLowbitKv({ schemes: presets });
  expect(kit.schemes.get('oaken-mm')).toEqual(presets[1]);
});

test('options name what they are', () => {
  const shares = { outer: 0.1, middle: 0.85, inner: 0.05 };
  expect(oaken({ middle: 'mm', scope: 'token', shares, reserve: 16 }).id).toBe(
    'oaken-mm-token-10-85-5-reserve-16',
  );
  expect(oaken({ stage: 'pre-rope' }).id).toBe('oaken-sm-pre-rope');
  expect(oaken({ id: 'mine' }).id).toBe('mine');
});

test.each([
  [{ scope: 'layer' }, 'scope'],
  [{ middle: 'oracle' }, 'middle'],
  [{ shares: { outer: 0.1, middle: 0.8, inner: 0.2 } }, 'add up to 1'],
  [{ shares: { outer: -0.1, middle: 1, inner: 0.1 } }, 'shares'],
  [{ reserve: 65 }, 'reserve'],
  [{ stage: 'mid-rope' }, 'stage'],
  [{ groups: 3 }, 'groups'],
])('%j is refused', (options, field) => {
  expect(() => oaken(options as never)).toThrow(
    expect.objectContaining({ code: 'OPTION_INVALID', message: expect.stringContaining(field) }),
  );
});
