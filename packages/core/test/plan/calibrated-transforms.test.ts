// Calibrated transforms at plan time: every malformed value is refused with the place it is at; sound ones reach the tensors.
import { describe, expect, test } from 'vitest';
import {
  type Calibration,
  createPlan,
  type LayerCalibration,
  type Scheme,
  schemeFingerprint,
  type Transform,
} from '../../src/index.js';
import { asymmetric, inlineCalibration, inlineScheme } from '../../src/testing/index.js';

const geometry = { layers: 2, queryHeads: 2, kvHeads: 2, keyHeadDim: 8, valueHeadDim: 16 };
const KINDS = ['tensorScale', 'channelScale', 'channelMean', 'channelOrder'] as const;

function schemeOf(key: readonly Transform[], value: readonly Transform[] = []): Scheme {
  return inlineScheme({
    key: { ...asymmetric(4, 'channels', 8), transforms: key },
    value: { ...asymmetric(4, 'channels', 8), transforms: value },
  });
}

const calibrated = (kind: (typeof KINDS)[number]): Transform => ({ kind, scope: 'model' });

function planWith(scheme: Scheme, layers: readonly LayerCalibration[]) {
  const calibration: Calibration = {
    specVersion: 1,
    scheme: schemeFingerprint(scheme),
    provenance: {},
    layers,
  };
  return createPlan(scheme, geometry, { calibration });
}

test('values reach the tensors of each layer, and the fingerprint', () => {
  const scheme = schemeOf(KINDS.map(calibrated), KINDS.map(calibrated));
  const calibration = inlineCalibration(scheme, geometry)!;
  const plan = createPlan(scheme, geometry, { calibration });
  for (const { layer, key, value } of plan.layers) {
    expect(key.calibration).toEqual(calibration.layers[layer]!.key);
    expect(value.calibration).toEqual(calibration.layers[layer]!.value);
  }
  const [first, second] = calibration.layers as [LayerCalibration, LayerCalibration];
  const layers = [first, { ...second, value: { ...second.value, tensorFactor: 9 } }];
  const other = createPlan(scheme, geometry, { calibration: { ...calibration, layers } });
  expect(other.fingerprint).not.toBe(plan.fingerprint);
});

test.each(KINDS)('a calibrated %s without its values is refused', (kind) => {
  const scheme = schemeOf([calibrated(kind)]);
  expect(() => createPlan(scheme, geometry)).toThrow(
    expect.objectContaining({ code: 'CALIBRATION_MISSING' }),
  );
  expect(() => planWith(scheme, [{}, {}])).toThrow(
    expect.objectContaining({ code: 'CALIBRATION_INVALID', where: { layer: 0, tensor: 'key' } }),
  );
});

/** Two heads of eight channels, all 1 but for one. */
const ones = (head: number, channel: number, value: number) =>
  Array.from({ length: 2 }, (_, h) =>
    Array.from({ length: 8 }, (_, c) => (h === head && c === channel ? value : 1)),
  );
const rising = Array.from({ length: 8 }, (_, c) => c);

describe('values out of range', () => {
  test.each([
    ['tensorScale', { tensorFactor: 0 }, {}],
    ['tensorScale', { tensorFactor: -1 }, {}],
    ['tensorScale', { tensorFactor: 2 ** -33 }, {}],
    ['tensorScale', { tensorFactor: 2 ** 33 }, {}],
    ['channelScale', { channelFactors: ones(1, 3, 0) }, { head: 1, channel: 3 }],
    ['channelScale', { channelFactors: ones(0, 7, -2) }, { head: 0, channel: 7 }],
    ['channelScale', { channelFactors: ones(0, 0, 1).slice(1) }, {}],
    ['channelScale', { channelFactors: [rising.map(() => 1), [1, 2]] }, { head: 1 }],
    ['channelMean', { channelMeans: ones(1, 0, 2 ** 33) }, { head: 1, channel: 0 }],
    ['channelMean', { channelMeans: [...ones(1, 0, 1), rising] }, {}],
    ['channelOrder', { channelOrder: [rising, [0, 1, 2, 3, 4, 5, 6, 6]] }, { head: 1, channel: 7 }],
    ['channelOrder', { channelOrder: [rising.map((c) => c + 1), rising] }, { head: 0, channel: 7 }],
    ['channelOrder', { channelOrder: [rising.map((c) => c / 2), rising] }, { head: 0, channel: 1 }],
    ['channelOrder', { channelOrder: [rising, rising.slice(1)] }, { head: 1 }],
  ] as const)('%s %j', (kind, key, where) => {
    const scheme = schemeOf([calibrated(kind)]);
    const good = inlineCalibration(scheme, geometry)!.layers[0]!;
    expect(() => planWith(scheme, [good, good])).not.toThrow();
    expect(() => planWith(scheme, [good, { key }])).toThrow(
      expect.objectContaining({
        code: 'CALIBRATION_INVALID',
        where: { layer: 1, tensor: 'key', ...where },
      }),
    );
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY])('%d is no calibrated value', (value) => {
    const scheme = schemeOf([calibrated('channelMean')]);
    expect(() => planWith(scheme, [{ key: { channelMeans: ones(0, 2, value) } }, {}])).toThrow(
      expect.objectContaining({ code: 'CALIBRATION_INVALID' }),
    );
  });
});

test('the shape of values is that of the values, not of the keys', () => {
  const scheme = schemeOf([], [calibrated('channelMean')]);
  const wide = Array.from({ length: 2 }, () => Array.from({ length: 16 }, () => 0.5));
  expect(() =>
    planWith(
      scheme,
      [wide, wide].map((channelMeans) => ({ value: { channelMeans } })),
    ),
  ).not.toThrow();
  const narrow = { value: { channelMeans: ones(0, 0, 1) } };
  expect(() => planWith(scheme, [narrow, narrow])).toThrow(
    expect.objectContaining({ where: { layer: 0, tensor: 'value', head: 0 } }),
  );
});

test('two calibrated transforms of one kind would share their values, and are refused', () => {
  const twice = [
    calibrated('channelMean'),
    { kind: 'hadamard' },
    calibrated('channelMean'),
  ] as const;
  expect(() => createPlan(schemeOf(twice), geometry)).toThrow(
    expect.objectContaining({
      code: 'SCHEME_INVALID',
      message: expect.stringContaining('transforms[2]'),
    }),
  );
});

test('layers that stay f16 need no values', () => {
  const scheme: Scheme = {
    ...schemeOf([calibrated('channelOrder')]),
    overrides: [{ layers: [0], key: { bits: 16 } }],
  };
  const good = inlineCalibration(scheme, geometry)!.layers[1]!;
  expect(() => planWith(scheme, [{}, good])).not.toThrow();
  expect(() => planWith(scheme, [good, {}])).toThrow(/layer 1/);
});
