// Level tables from calibration: each layer and tensor executes its own, and a table that does not fit is refused by name.
import { describe, expect, it } from 'vitest';
import {
  type Calibration,
  createCache,
  createPlan,
  encodeF16,
  f16Tensor,
  LowbitKvError,
  type Quantizer,
  referenceBackend,
  type Scheme,
  schemeFingerprint,
  type TensorPlan,
} from '../../src/index.js';
import { createDraws } from '../../src/testing/index.js';
import { scheme, tensor } from '../support/schemes.js';

const GEOMETRY = { layers: 2, queryHeads: 1, kvHeads: 1, keyHeadDim: 16, valueHeadDim: 16 };
const TABLE = { levels: 'calibrated', scaledBy: 'none' } as const;

function calibrated(quantizer: Quantizer = { mode: 'symmetric', codes: TABLE }): Scheme {
  const unscaled = typeof quantizer.codes === 'object' && quantizer.codes.scaledBy === 'none';
  const value = {
    ...tensor({ bits: 2, size: 8, codes: 'full' }),
    quantizer,
    parameters: unscaled
      ? {}
      : quantizer.mode === 'asymmetric'
        ? { scale: 'f16', zero: 'f16' }
        : { scale: 'f16' },
  };
  return {
    ...scheme({ key: { bits: 16 } }),
    value,
    calibration: { kind: 'offline', values: ['levels'] },
  } as Scheme;
}

function calibration(target: Scheme, ...levels: (readonly number[] | undefined)[]): Calibration {
  return {
    specVersion: 1,
    scheme: schemeFingerprint(target),
    provenance: { source: 'test' },
    layers: levels.map((list) => ({ value: list === undefined ? {} : { levels: list } })),
  };
}

function refusal(target: Scheme, ...levels: (readonly number[] | undefined)[]): LowbitKvError {
  try {
    createPlan(target, GEOMETRY, { calibration: calibration(target, ...levels) });
  } catch (error) {
    if (LowbitKvError.is(error, 'CALIBRATION_INVALID')) return error;
    throw error;
  }
  return expect.fail('nothing was refused');
}

const FIRST = [-1, -0.25, 0.25, 1];
const SECOND = [-3, 0, 2];

describe('calibrated level tables', () => {
  it('are numbers in the plan of each layer, and part of the fingerprint', () => {
    const target = calibrated();
    const plan = createPlan(target, GEOMETRY, { calibration: calibration(target, FIRST, SECOND) });
    const codes = (value: TensorPlan | undefined) =>
      value?.scheme.bits === 2 ? value.scheme.quantizer.codes : null;
    expect(codes(plan.layers[0]?.value)).toEqual({ levels: FIRST, scaledBy: 'none' });
    expect(codes(plan.layers[1]?.value)).toEqual({ levels: SECOND, scaledBy: 'none' });
    expect(plan.scheme.value).toMatchObject({ quantizer: { codes: { levels: 'calibrated' } } });
    const other = createPlan(target, GEOMETRY, { calibration: calibration(target, FIRST, FIRST) });
    expect(other.fingerprint).not.toBe(plan.fingerprint);
  });

  it('decode to the levels of their layer', async () => {
    const target = calibrated();
    const plan = createPlan(target, GEOMETRY, { calibration: calibration(target, FIRST, SECOND) });
    const cache = await createCache(plan, referenceBackend(), { capacity: { tokens: 64 } });
    const sequence = cache.createSequence();
    const draw = createDraws(3);
    const values = Float32Array.from({ length: 12 * 16 }, () => (draw() - 2048) / 512);
    const rows = f16Tensor(encodeF16(values), [12, 1, 16]);
    await cache.append(
      [{ sequence, tokens: 12 }],
      [
        { key: rows, value: rows },
        { key: rows, value: rows },
      ],
    );
    for (const [layer, levels] of [FIRST, SECOND].entries()) {
      const { value } = await cache.materialize(sequence, layer);
      expect([...new Set(value.data)].sort((a, b) => a - b)).toEqual(levels);
    }
  });

  it('are refused when they are missing or do not fit, naming layer and tensor', () => {
    const target = calibrated();
    const missing = refusal(target, FIRST, undefined);
    expect(missing.message).toContain('value levels are missing');
    expect(missing.where).toEqual({ layer: 1, tensor: 'value' });
    expect(refusal(target, [-2, -1, 0, 1, 2], FIRST)).toMatchObject({
      value: 5,
      where: { layer: 0, tensor: 'value' },
    });
    expect(refusal(target, [1], FIRST).valid).toContain('2 to 2^bits = 4');
    expect(refusal(target, [0, 1, 1 + 1e-12], FIRST).valid).toContain('rise strictly');
    expect(refusal(target, [1, 0], FIRST).valid).toContain('rise strictly');
    const scaled = calibrated({
      mode: 'asymmetric',
      codes: { levels: 'calibrated', scaledBy: 'absoluteMaximum' },
    });
    expect(refusal(scaled, [0, 1], [0.5, 1]).valid).toContain('begin with 0');
  });
});
