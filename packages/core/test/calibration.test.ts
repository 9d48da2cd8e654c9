// Calibration documents: tied to the scheme, frozen, refused when the scheme cannot or does it wrong.
import { expect, test } from 'vitest';
import {
  type CalibrationSample,
  createCalibration,
  type LayerCalibration,
  parseCalibration,
  type Scheme,
  schemeFingerprint,
} from '../src/index.js';

const thresholds = { outerLow: -2, outerHigh: 2, innerLow: -0.5, innerHigh: 0.5 };
const tensor = {
  bits: 4,
  groups: { along: 'vector', scope: 'head' },
  quantizer: { mode: 'symmetric', codes: 'midRise' },
  parameters: { scale: 'f16' },
  window: { recent: 0, flush: 1 },
  outliers: {
    kind: 'bands',
    shares: { outer: 0.04, middle: 0.9, inner: 0.06 },
    groupShift: true,
    outlierBits: 5,
    storage: { format: 'coo64', reserve: 64 },
  },
} as const;

function schemeWith(calibrate?: Scheme['calibrate']): Scheme {
  return {
    specVersion: 1,
    id: 'calibrated',
    title: 'Calibrated',
    sinks: 0,
    packing: 'before-attention',
    key: tensor,
    value: tensor,
    calibration: { kind: 'offline', values: ['thresholds'] },
    ...(calibrate === undefined ? {} : { calibrate }),
  };
}

async function* samples(): AsyncIterable<CalibrationSample> {
  const key = Float32Array.of(1, 2);
  yield { layer: 0, tokens: 1, kvHeads: 1, key, value: key };
}

test('a member that is called __proto__ is refused: a record would lose it', () => {
  const text = '{"specVersion":1,"scheme":"x","provenance":{"__proto__":"me"},"layers":[]}';
  expect(() => parseCalibration(JSON.parse(text))).toThrow(/CALIBRATION_INVALID: .*__proto__/);
  expect(() => parseCalibration(JSON.parse(text.replace('__proto__', 'by')))).not.toThrow();
});

test('wraps what the scheme measures', async () => {
  const seen: CalibrationSample[] = [];
  const scheme = schemeWith(async (given) => {
    for await (const sample of given) seen.push(sample);
    return [{ key: { thresholds }, value: { thresholds } }];
  });
  const calibration = await createCalibration(scheme, samples(), { model: 'tiny' });
  expect(seen).toHaveLength(1);
  expect(calibration).toEqual({
    specVersion: 1,
    scheme: schemeFingerprint(schemeWith()),
    provenance: { model: 'tiny' },
    layers: [{ key: { thresholds }, value: { thresholds } }],
  });
  expect(Object.isFrozen(calibration.layers[0]?.key?.thresholds)).toBe(true);
  expect(Object.isFrozen(thresholds)).toBe(false);
});

test('a scheme without calibrate is refused', async () => {
  await expect(createCalibration(schemeWith(), samples(), {})).rejects.toMatchObject({
    code: 'OPTION_INVALID',
  });
});

test('a malformed result is refused', async () => {
  const broken = { key: { thresholds: { outerLow: -2 } } } as unknown as LayerCalibration;
  const scheme = schemeWith(async () => [broken]);
  await expect(createCalibration(scheme, samples(), {})).rejects.toMatchObject({
    code: 'CALIBRATION_INVALID',
  });
});
