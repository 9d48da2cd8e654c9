// What the package promises of its schemes: ids, frozen data, stable fingerprints, refused options.
import { createLowbitKv, schemeFingerprint } from '@lowbit-kv/core';
import { expect, test } from 'vitest';
import { kvquant, presets } from '../src/index.js';

// A change here orphans every stored calibration and snapshot of the preset.
const FINGERPRINTS: Record<string, string> = {
  'kvquant-2bit': '75e3582943fa0ca92d6dee31e4e37e498bdcf17757958cf9ec1f51a7893338f5',
  'kvquant-3bit': 'b2322d806b48028852785b2c978c6c4a6acbc2011f2b59079944a6cc9119d349',
  'kvquant-4bit': 'c0b4479a7bce4bf06b02678382e2eedd7e58d9de1c4417e8516ced80a1f132aa',
};

test('ids', () => {
  expect(presets.map(({ id }) => id)).toEqual(Object.keys(FINGERPRINTS));
});

test.each(presets)('$id keeps its fingerprint', (scheme) => {
  expect(schemeFingerprint(scheme)).toBe(FINGERPRINTS[scheme.id]);
});

test('the list is frozen and registers as it is', () => {
  expect(Object.isFrozen(presets)).toBe(true);
  const kit = createLowbitKv({ schemes: presets });
  expect(kit.schemes.get('kvquant-3bit')).toEqual(presets[1]);
});

test('options name what they are', () => {
  expect(kvquant({ bits: 3, outliers: 2 }).id).toBe('kvquant-3bit-top2');
  expect(kvquant({ bits: 3, outliers: 0 }).id).toBe('kvquant-3bit-dense');
  expect(kvquant({ bits: 4, outlierShare: 0.02 }).id).toBe('kvquant-4bit-share-0p02');
  expect(kvquant({ bits: 4, outlierShare: 1e-7 }).id).toBe('kvquant-4bit-share-1e-7');
  expect(kvquant({ bits: 4, sinks: 0, recent: 64 }).id).toBe('kvquant-4bit-s0-r64');
  expect(kvquant({ bits: 4, id: 'mine' }).id).toBe('mine');
});

test('options go where they belong', () => {
  const scheme = kvquant({ bits: 4, outliers: 3, sinks: 5, recent: 7 });
  const common = {
    ...{ bits: 4, window: { recent: 7, flush: 1 } },
    outliers: { kind: 'top', count: 3, storage: { format: 'list' } },
  };
  expect(scheme.sinks).toBe(5);
  expect(scheme.key).toMatchObject({ ...common, stage: 'pre-rope' });
  expect(scheme.value).toMatchObject(common);
  expect(kvquant({ bits: 2, outliers: 0 }).key).not.toHaveProperty('outliers');
});

test.each([
  [{ bits: 5 }, 'bits'],
  [{ bits: 2, outliers: -1 }, 'outliers'],
  [{ bits: 2, outlierShare: 0.6 }, 'outlierShare'],
  [{ bits: 2, sinks: -1 }, 'sinks'],
  [{ bits: 2, recent: 0.5 }, 'recent'],
  [{ bits: 2, gradients: true }, 'gradients'],
  [{}, 'bits'],
])('%j is refused', (options, field) => {
  expect(() => kvquant(options as never)).toThrow(
    expect.objectContaining({ code: 'OPTION_INVALID', message: expect.stringContaining(field) }),
  );
});
