// What the package promises of its schemes: ids, frozen data, JSON round trip, stable fingerprints, refused options.
import { createLowbitKv, defineScheme, schemeFingerprint } from '@lowbit-kv/core';
import { expect, test } from 'vitest';
import { presets, rotated } from '../src/index.js';

// A change here orphans every stored snapshot of the preset.
const FINGERPRINTS: Record<string, string> = {
  'rotated-4bit-g32': '09e24d9ccefb737de1f986177d6a973fa4c8624983c3e83eadd650f544c65432',
  'rotated-4bit-symmetric-g32': '2978a98afab887fe99a5e13b5fcac47f5e43f2ec84245da8a133f12bf7584aa4',
  'rotated-3bit-g32': '8f7cddcc85c469b6728a029a20a4dcc68a03174272e7fb4f1cd11b0b63503a78',
  'rotated-3bit-symmetric-g32': 'c8735e38c499ca54e79d62056a02e36316e2e8ed513947f7b01387c55f32ea4b',
  'rotated-2bit-g32': '8684813999521b07c5767ae4e708178498f94e55984d61c113044943e215c6aa',
  'rotated-4bit-g32-centered-keys-s32-r96':
    'f1b49ce7d0d22c37494639d48e7e422d4ca7d3439a8ffa497012c84c939e1469',
  'rotated-3bit-g32-centered-keys-s32-r96':
    'b3e640afcafcc9ed42f978737c75708198bb7c6477d578380ee1c2401f8318df',
  'rotated-2bit-g32-centered-keys-s32-r96':
    'caf400c0d7376238bf9d600650a2d28c75f585dbea9f31d8f0d3198d90fe5a51',
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
    expect(Object.isFrozen(tensor.window)).toBe(true);
    expect(Object.isFrozen(tensor.transforms?.[0])).toBe(true);
  }
  const copy = defineScheme(JSON.parse(JSON.stringify(scheme)));
  expect(copy).toEqual(scheme);
  expect(schemeFingerprint(copy)).toBe(schemeFingerprint(scheme));
});

test('the list is frozen and registers as it is', () => {
  expect(Object.isFrozen(presets)).toBe(true);
  const kit = createLowbitKv({ schemes: presets });
  expect(kit.schemes.get('rotated-3bit-g32')).toEqual(presets[2]);
});

test('options name what they are', () => {
  expect(rotated({ bits: 2, groupSize: 128, sinks: 20 }).id).toBe('rotated-2bit-g128-s20');
  expect(rotated({ bits: 4, quantizer: 'symmetric', recent: 8 }).id).toBe(
    'rotated-4bit-symmetric-g32-r8',
  );
  expect(rotated({ bits: 3, centered: 'keys', statisticsTokens: 64 }).id).toBe(
    'rotated-3bit-g32-centered-keys-n64',
  );
  expect(rotated({ bits: 3, centered: 'keys-and-values' }).id).toBe('rotated-3bit-g32-centered');
  expect(rotated({ bits: 4, id: 'mine' }).id).toBe('mine');
});

test('the mean is taken before the rotation, of the tensors that were asked for', () => {
  const mean = { kind: 'channelMean', scope: 'sequence', statisticsTokens: 128 };
  const turn = { kind: 'hadamard' };
  const { key, value, calibration } = rotated({ bits: 3, centered: 'keys' });
  expect(key).toMatchObject({ transforms: [mean, turn] });
  expect(value).toMatchObject({ transforms: [turn] });
  expect(calibration).toEqual({ kind: 'prefill' });
  const both = rotated({ bits: 3, centered: 'keys-and-values' });
  expect(both.value).toMatchObject({ transforms: [mean, turn] });
});

test.each([
  [{ bits: 8 }, 'bits'],
  [{ bits: 2, groupSize: 16 }, 'groupSize'],
  [{ bits: 2, quantizer: 'signmag' }, 'quantizer'],
  [{ bits: 2, centered: true }, 'centered'],
  [{ bits: 2, statisticsTokens: 64 }, 'statisticsTokens'],
  [{ bits: 2, centered: 'keys', statisticsTokens: 0 }, 'statisticsTokens'],
  [{ bits: 2, sinks: -1 }, 'sinks'],
  [{ bits: 2, reorder: true }, 'reorder'],
  [{}, 'bits'],
])('%j is refused', (options, field) => {
  expect(() => rotated(options as never)).toThrow(
    expect.objectContaining({ code: 'OPTION_INVALID', message: expect.stringContaining(field) }),
  );
});
