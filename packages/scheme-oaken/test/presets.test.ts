// What the package promises of its schemes: ids, frozen data, JSON round trip, stable fingerprints, refused options.
import { createLowbitKv, defineScheme, schemeFingerprint } from '@lowbit-kv/core';
import { expect, test } from 'vitest';
import { oaken, presets } from '../src/index.js';

// A change here orphans every stored calibration and snapshot of the preset.
const FINGERPRINTS: Record<string, string> = {
  'oaken-sm': 'dd78846ded096e40f165343234c3ac60db599fe841578a18a2c6bc2457333cd9',
  'oaken-mm': '2e1ee78dbe0896369cb44585afba19b71210f6dac3ce3ea17d954bd036e41f04',
  'oaken-sm-token': 'f94ff9ef073f7faa1f6edf27bf0f939ab958e986eb8ffc2cb1d697e5becadcc4',
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
