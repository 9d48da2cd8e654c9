// What the package promises of its schemes: ids, frozen data, JSON round trip, stable fingerprints, refused options.
import { createLowbitKv, defineScheme, schemeFingerprint } from '@lowbit-kv/core';
import { expect, test } from 'vitest';
import { bitdecoding, presets } from '../src/index.js';

// A change here orphans every stored snapshot of the preset.
const FINGERPRINTS: Record<string, string> = {
  'bitdecoding-kc-4bit-g32': '4c85be15e3537e78fb9fd816c111c5f813db22df909354b05af74fd14a95de6a',
  'bitdecoding-kc-4bit-g64': '066f665f109deab65dd117f5f058f0113920ca8892c29b34aa0c9cc32f0d7319',
  'bitdecoding-kc-4bit-g128': 'd5c864db9877adb41c91a0860faf858924ab3ccca6702ca9b637c0d96f355e1b',
  'bitdecoding-kc-2bit-g32': '9b75148b024fc4292e7a7b6fdae2609fe417653d8ff3250b30681ac3e149deb7',
  'bitdecoding-kc-2bit-g64': 'b22f3d2cc9c629597675adc1acae550758f9c6acefaa9d916af531313fe6658b',
  'bitdecoding-kc-2bit-g128': '65fabc25b9f8d7cef249804a7a95d98707b2c8eb3b834b73d5532e9c808fc2a3',
  'bitdecoding-kt-4bit-g32': 'bc8033a2fec6dfe78333bcb9e9620ea12c31df14f0062f2e97b75ec9f6c087ce',
  'bitdecoding-kt-4bit-g64': '232805bcfae92cde80ee64c7e81035fb4ca03b9619655a34cea45e74074a5187',
  'bitdecoding-kt-4bit-g128': '6834ea44f0450b7b8b0e08fc9d0b54b1a16980cab64ada25582f4efd80eaad7f',
  'bitdecoding-kt-2bit-g32': '6c7b952e3face9cb4fb8e3b2a5810b049c0a75f039d1aede027c2a924c7a5df4',
  'bitdecoding-kt-2bit-g64': '5fd5d3eac188a5e5645d4ebae4eed392f8c07d5e76d0e6bd883c670cd8f78713',
  'bitdecoding-kt-2bit-g128': 'cd355656d6acb9f4312824374e5d0a3e07fbaf55375c8a34d16c5f76455b2018',
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
  expect(kit.schemes.get('bitdecoding-kc-4bit-g128')).toEqual(presets[2]);
});

test('options name what they are', () => {
  expect(bitdecoding({ bits: 4, keys: 'kc' }).id).toBe('bitdecoding-kc-4bit-g128');
  expect(bitdecoding({ bits: 4, keys: 'kt', residualBlock: 64 }).id).toBe(
    'bitdecoding-kt-4bit-g128-nr64',
  );
  expect(bitdecoding({ bits: 2, keys: 'kc', residualBlock: 256 }).id).toBe(
    'bitdecoding-kc-2bit-g128',
  );
  expect(bitdecoding({ bits: 2, keys: 'kc', id: 'mine' }).id).toBe('mine');
});

test.each([
  [{ bits: 3, keys: 'kc' }, 'bits'],
  [{ bits: 2, keys: 'k-channel' }, 'keys'],
  [{ bits: 2, keys: 'kc', groupSize: 48 }, 'groupSize'],
  [{ bits: 2, keys: 'kc', residualBlock: 0 }, 'residualBlock'],
  [{ bits: 2, keys: 'kc', residual: 128 }, 'residual'],
  [{ bits: 4 }, 'keys'],
])('%j is refused', (options, field) => {
  expect(() => bitdecoding(options as never)).toThrow(
    expect.objectContaining({ code: 'OPTION_INVALID', message: expect.stringContaining(field) }),
  );
});

test('a residual block of broken groups is refused, but only where groups run along tokens', () => {
  expect(() => bitdecoding({ bits: 4, keys: 'kc', residualBlock: 64 })).toThrow(/window\.flush/);
  expect(bitdecoding({ bits: 4, keys: 'kt', residualBlock: 64 }).key).toMatchObject({
    window: { recent: 0, flush: 64 },
  });
});
