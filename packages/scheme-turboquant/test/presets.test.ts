// What the package promises of its schemes: ids, frozen data, JSON round trip, stable fingerprints, refused options.
import { createLowbitKv, defineScheme, schemeFingerprint } from '@lowbit-kv/core';
import { expect, test } from 'vitest';
import { lloydMaxLevels, presets, turboquant } from '../src/index.js';

// A change here orphans every stored snapshot of the preset.
const FINGERPRINTS: Record<string, string> = {
  'turboquant-2bit': 'e028267381cac947eebd6b7140a1eceac99d540b1c344dc0a77bd9d2014184b9',
  'turboquant-3bit': '0b27dfed138562608716f7a953968edcfe41753d0c18477bd035aa656f5803bb',
  'turboquant-4bit': '2bececdc85a8d04c6f44a1104a68f760f92c5fcbdc913724b77bc7c504db0bf5',
  'turboquant-2bit-s32-r96': '0b67455ab0e4cf37bd78a746cddb3aaab76d9276af7a5e18e03bafead261491c',
};

test('ids', () => {
  expect(presets.map(({ id }) => id)).toEqual(Object.keys(FINGERPRINTS));
});

test.each(presets)('$id keeps its fingerprint', (scheme) => {
  expect(schemeFingerprint(scheme)).toBe(FINGERPRINTS[scheme.id]);
});

test.each(presets)('$id is frozen to the bottom and survives JSON', (scheme) => {
  expect(Object.isFrozen(scheme)).toBe(true);
  for (const tensor of [scheme.key, scheme.value]) {
    if (tensor.bits === 16) throw new Error('tensor not quantized');
    expect(Object.isFrozen(tensor.transforms?.[0])).toBe(true);
    const { codes } = tensor.quantizer;
    if (typeof codes !== 'object') throw new Error('no level table');
    expect(Object.isFrozen(codes) && Object.isFrozen(codes.levels)).toBe(true);
  }
  const copy = defineScheme(JSON.parse(JSON.stringify(scheme)));
  expect(copy).toEqual(scheme);
  expect(schemeFingerprint(copy)).toBe(schemeFingerprint(scheme));
});

test('the list is frozen and registers as it is', () => {
  expect(Object.isFrozen(presets)).toBe(true);
  const kit = createLowbitKv({ schemes: presets });
  expect(kit.schemes.get('turboquant-4bit')).toEqual(presets[2]);
});

test.each([2, 3, 4] as const)('%i-bit levels: all codes used, odd, rising', (bits) => {
  const levels = lloydMaxLevels(bits);
  expect(levels.length).toBe(2 ** bits);
  expect(levels).toEqual([...levels].sort((a, b) => a - b));
  expect(levels.map((level) => -level).reverse()).toEqual(levels);
});

test('options name what they are', () => {
  expect(turboquant({ bits: 3, valueBits: 2 }).id).toBe('turboquant-3bit-2bit-values');
  expect(turboquant({ bits: 3, valueBits: 3 }).id).toBe('turboquant-3bit');
  expect(turboquant({ bits: 4, recent: 64 }).id).toBe('turboquant-4bit-r64');
  expect(turboquant({ bits: 4, sinks: 4 }).id).toBe('turboquant-4bit-s4');
  expect(turboquant({ bits: 4, id: 'mine' }).id).toBe('mine');
});

test('options go where they belong', () => {
  const scheme = turboquant({ bits: 4, valueBits: 2, sinks: 5, recent: 7 });
  expect(scheme.sinks).toBe(5);
  expect(scheme.key).toMatchObject({ bits: 4, window: { recent: 7, flush: 1 } });
  expect(scheme.value).toMatchObject({ bits: 2, window: { recent: 7, flush: 1 } });
});

test.each([
  [{ bits: 5 }, 'bits'],
  [{ bits: 2, valueBits: 8 }, 'valueBits'],
  [{ bits: 2, sinks: -1 }, 'sinks'],
  [{ bits: 2, recent: 0.5 }, 'recent'],
  [{ bits: 2, seed: 1 }, 'seed'],
  [{}, 'bits'],
])('%j is refused', (options, field) => {
  expect(() => turboquant(options as never)).toThrow(
    expect.objectContaining({ code: 'OPTION_INVALID', message: expect.stringContaining(field) }),
  );
});
