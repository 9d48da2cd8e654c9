// What the package promises of its schemes: ids, frozen data, JSON round trip, stable fingerprints, refused options.
import { createLowbitKv, defineScheme, schemeFingerprint } from '@lowbit-kv/core';
import { expect, test } from 'vitest';
import { blockFormat, floatFormat, presets, qserveKv4Like, tokenHead } from '../src/index.js';

// A change here orphans every stored snapshot of the preset.
const FINGERPRINTS: Record<string, string> = {
  'int8-token-head-asymmetric': '46d650938dc61fa67e86c2bf31f509f6346bd206998a79151f3ae1df67e32bdd',
  'int8-token-head-symmetric': 'a594281d8ae0b5bfa289d996397874b2d0e5917d43bc0a020ef3cebc85713c73',
  'int4-token-head-asymmetric': '3c2b43258b6a121142e1f1988ea8f5e285fc010d330fb3ce2f3da4e377d8d90f',
  'int4-token-head-symmetric': '02f1b9188ede81907e9ee12450f9a9777f96ede8383b7b5c43f153c1f25e2e1f',
  'q8-0': '70bfda66fe173f7a044bf05995961e67bb20a452d9a81a0d399b95f77312f2e9',
  'q4-0': '515a6d7d9092413a7132e33ddbea90e107ab108aa303abe130c6b55981ea826e',
  'q8-0-keys-q4-0-values': 'f8795dd270716976a6cb5ebdecafb6b78d620b6e277b44be54c8654a14fc3305',
  'qserve-kv4-like': 'c52b27b58823f4b4485a541fac399a1963e3d816dfcfba0454ff3cbc61e8b236',
  'fp8-e4m3': '503203e5a777a908575b2a8a4f89e21846472a7f00672c0c84cb80593eb0b353',
  nvfp4: '99905bdec2dccedc342e922032679f07cfcc3b7652730551aac272d071303d13',
  mxfp4: '54c783275e5e62d2909a5264a6905098062bd3c5206f9f1f56de159a8068a020',
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
  expect(kit.schemes.get('q4-0')).toEqual(presets[5]);
});

test('options name what they are', () => {
  const late = tokenHead({ bits: 8, mode: 'symmetric', packing: 'after-attention' });
  expect(late.id).toBe('int8-token-head-symmetric-f16-step');
  expect(tokenHead({ bits: 4, mode: 'symmetric', id: 'mine' }).id).toBe('mine');
  expect(blockFormat({ keys: 'q4_0', values: 'q8_0' }).id).toBe('q4-0-keys-q8-0-values');
  expect(blockFormat({ keys: 'q4_0', values: 'q4_0', id: 'mine' }).id).toBe('mine');
  expect(floatFormat({ keys: 'fp8-e4m3', values: 'mxfp4' }).id).toBe('fp8-e4m3-keys-mxfp4-values');
  expect(floatFormat({ keys: 'mxfp4', values: 'mxfp4', id: 'mine' }).id).toBe('mine');
});

test('the relative of QServe is int4 asymmetric that packs after attention', () => {
  const plain = tokenHead({ bits: 4, mode: 'asymmetric' });
  const late = tokenHead({ bits: 4, mode: 'asymmetric', packing: 'after-attention' });
  expect(schemeFingerprint(qserveKv4Like)).toBe(schemeFingerprint(late));
  expect(schemeFingerprint(qserveKv4Like)).not.toBe(schemeFingerprint(plain));
});

test.each([
  [{ bits: 2, mode: 'symmetric' }, 'bits'],
  [{ bits: 8, mode: 'full' }, 'mode'],
  [{ bits: 8, mode: 'symmetric', packing: 'never' }, 'packing'],
  [{ bits: 8, mode: 'symmetric', headDim: 64 }, 'headDim'],
  [{ bits: 8 }, 'mode'],
])('token and head: %j is refused', (options, field) => {
  expect(() => tokenHead(options as never)).toThrow(
    expect.objectContaining({ code: 'OPTION_INVALID', message: expect.stringContaining(field) }),
  );
});

test.each([
  [{ keys: 'q5_0', values: 'q8_0' }, 'keys'],
  [{ keys: 'q8_0', values: 'q4_1' }, 'values'],
  [{ keys: 'q8_0' }, 'values'],
  [{ keys: 'q8_0', values: 'q8_0', block: 32 }, 'block'],
])('blocks: %j are refused', (options, field) => {
  expect(() => blockFormat(options as never)).toThrow(
    expect.objectContaining({ code: 'OPTION_INVALID', message: expect.stringContaining(field) }),
  );
});

test.each([
  [{ keys: 'fp8-e5m2', values: 'nvfp4' }, 'keys'],
  [{ keys: 'nvfp4', values: 'mxfp8' }, 'values'],
  [{ keys: 'mxfp4', values: 'mxfp4', statisticsTokens: 0 }, 'statisticsTokens'],
  [{ keys: 'nvfp4', values: 'nvfp4', block: 16 }, 'block'],
])('floats: %j are refused', (options, field) => {
  expect(() => floatFormat(options as never)).toThrow(
    expect.objectContaining({ code: 'OPTION_INVALID', message: expect.stringContaining(field) }),
  );
});

test('only formats with a scale of the tensor measure the sequence', () => {
  const kinds = (keys: 'nvfp4' | 'mxfp4', values: 'fp8-e4m3' | 'mxfp4') =>
    floatFormat({ keys, values }).calibration.kind;
  expect(kinds('mxfp4', 'mxfp4')).toBe('none');
  expect(kinds('nvfp4', 'mxfp4')).toBe('prefill');
  expect(kinds('mxfp4', 'fp8-e4m3')).toBe('prefill');
});
