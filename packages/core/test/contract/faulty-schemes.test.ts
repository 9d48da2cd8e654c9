// The contract suite catches schemes that break what it checks.
import { expect, test } from 'vitest';
import { type SchemeContractOptions, schemeChecks } from '../../src/contract/index.js';
import { defineScheme, type Geometry, type Scheme, schemeFingerprint } from '../../src/index.js';
import { asymmetric, bands, inlineCalibration, inlineScheme } from '../../src/testing/index.js';

const sound = defineScheme(
  inlineScheme({ key: asymmetric(2, 'tokens', 32), value: asymmetric(4, 'channels', 32) }),
);
const geometry = { layers: 1, queryHeads: 2, kvHeads: 1, keyHeadDim: 64, valueHeadDim: 64 };

/** What the check of this name throws. */
async function failure(
  scheme: Scheme,
  name: string,
  options: SchemeContractOptions = {},
): Promise<string> {
  const found = schemeChecks(scheme, options).find((check) => check.name === name);
  if (found === undefined) throw new Error(`no check ${name}`);
  try {
    await found.run();
    return 'passed';
  } catch (error) {
    return String(error);
  }
}

test('a sound scheme passes the checks that the faulty ones fail', async () => {
  for (const name of [
    'is frozen to the bottom',
    'satisfies the scheme contract',
    'fits or refuses the usual geometries',
    'the error of packed values is what their bits allow',
  ]) {
    expect(await failure(sound, name), name).toBe('passed');
  }
});

test('a scheme that is not frozen', async () => {
  const { key, ...rest } = sound;
  const loose = Object.freeze({ ...rest, key: { ...key } });
  expect(await failure(loose, 'is frozen to the bottom')).toContain('scheme.key is not frozen');
});

test('a scheme outside the contract', async () => {
  const wrong = { ...sound, sinks: -1 };
  expect(await failure(wrong, 'satisfies the scheme contract')).toContain('SCHEME_INVALID');
});

test('a scheme that fits no geometry, or not the one it must', async () => {
  const wide = defineScheme(
    inlineScheme({ key: asymmetric(4, 'channels', 1024), value: { bits: 16 } }),
  );
  const usual = 'fits or refuses the usual geometries';
  expect(await failure(wide, usual)).toContain('fits none of');
  const geometries = [geometry] as const;
  expect(await failure(wide, 'fits its geometries', { geometries })).toContain('SHAPE_UNSUPPORTED');
});

test('values that lose more than promised', async () => {
  const limits = { relativeError: { key: 0.1, value: 0.1 } };
  const name = 'the error of packed values is what their bits allow';
  expect(await failure(sound, name, limits)).toMatch(/relative error .* of keys/);
});

test('bands whose thresholds do not fit the data lose too much', async () => {
  const banded = defineScheme(
    inlineScheme({ key: bands('midRise', 'head'), value: bands('midRise', 'head') }),
  );
  const name = 'the error of packed values is what their bits allow';
  const edges = { outerLow: -60000, outerHigh: 60000, innerLow: -50000, innerHigh: 50000 };
  const calibration = () => ({
    specVersion: 1 as const,
    scheme: schemeFingerprint(banded),
    provenance: { source: 'wrong on purpose' },
    layers: [{ key: { thresholds: edges }, value: { thresholds: edges } }],
  });
  const good = (geometry: Geometry) => inlineCalibration(banded, geometry) ?? calibration();
  expect(await failure(banded, name, { calibration: good })).toBe('passed');
  const wrong = await failure(banded, name, { calibration });
  expect(wrong).not.toBe('passed');
});
