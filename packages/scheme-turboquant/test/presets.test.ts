// What the package promises of its schemes: ids, frozen data, JSON round trip, stable fingerprints, refused options.
import { createLowbitKv, defineScheme, schemeFingerprint } from '@lowbit-kv/core';
import { expect, test } from 'vitest';
import { lloydMaxLevels, presets, turboquant } from '../src/index.js';

// A change here orphans every stored snapshot of the preset.
const FINGERPRINTS: Record<string, string> = {
  'turboquant-2bit': '7ed0d8c8475a732ec34d261af2a56b2926f98e31069d536121d72a45b145628d',
  'turboquant-3bit': 'aec4e4912121c0fac905fa6cac4a1bad5f1d2fe8efc89cd1527a1a27e80c5712',
  'turboquant-4bit': '47a56c64b5c22e0a3ef2e42e6aa3b865135fd7271a7faf3b253a91a3ba85b17e',
  'turboquant-2bit-s32-r96': '8fe7d3c0c5a897f20026186b7feec063eb6d959678fae5ce323e90731cbc0a09',
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
  expect(turboquant({ bits: 4, seed: 9 }).id).toBe('turboquant-4bit-seed9');
  expect(turboquant({ bits: 4, id: 'mine' }).id).toBe('mine');
});

test('options go where they belong', () => {
  const scheme = turboquant({ bits: 4, valueBits: 2, sinks: 5, recent: 7, seed: 3 });
  const transforms = [{ kind: 'hadamard', seed: 3 }];
  expect(scheme.sinks).toBe(5);
  expect(scheme.key).toMatchObject({ bits: 4, transforms, window: { recent: 7, flush: 1 } });
  expect(scheme.value).toMatchObject({ bits: 2, transforms, window: { recent: 7, flush: 1 } });
});

test.each([
  [{ bits: 5 }, 'bits'],
  [{ bits: 2, valueBits: 8 }, 'valueBits'],
  [{ bits: 2, sinks: -1 }, 'sinks'],
  [{ bits: 2, recent: 0.5 }, 'recent'],
  [{ bits: 2, seed: -1 }, 'seed'],
  [{ bits: 2, seed: 2 ** 32 }, 'seed'],
  [{ bits: 2, codebook: 'exact' }, 'codebook'],
  [{}, 'bits'],
])('%j is refused', (options, field) => {
  expect(() => turboquant(options as never)).toThrow(
    expect.objectContaining({ code: 'OPTION_INVALID', message: expect.stringContaining(field) }),
  );
});
