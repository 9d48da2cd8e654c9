// Overrides of single kv heads in a plan: units of heads that are stored alike, and what cannot be stored apart.
import { describe, expect, it } from 'vitest';
import {
  type Calibration,
  createPlan,
  modelLayers,
  type Scheme,
  schemeFingerprint,
} from '../../src/index.js';
import { bands } from '../../src/testing/index.js';
import {
  base,
  eight,
  F16,
  GROUP,
  geometry,
  HEADS,
  KEY_DIM,
  refusal,
  schemeOf,
  split,
  stored,
} from '../support/split-heads.js';

describe('a plan', () => {
  const plan = createPlan(split, geometry);

  it('has a unit for heads that are stored alike, and whole layers as before', () => {
    expect(plan.layers.map(({ layer, heads }) => [layer, heads])).toEqual([
      [0, [0]],
      [0, [1, 3]],
      [0, [2]],
      [1, [0, 1, 2, 3]],
    ]);
    for (const { heads, geometry: shape, key, value } of plan.layers) {
      expect(shape).toMatchObject({ kvHeads: heads.length, queryHeads: heads.length * GROUP });
      expect([key.heads, value.heads]).toEqual([heads.length, heads.length]);
      const numbers = heads.length < HEADS ? heads : undefined;
      expect([key.headNumbers, value.headNumbers]).toEqual([numbers, numbers]);
    }
    expect(
      plan.layers.slice(0, 3).map(({ key, value }) => ({ key: key.scheme, value: value.scheme })),
    ).toEqual([0, 1, 2].map((head) => stored[head]));
    expect(plan.classes.map(({ layers }) => layers)).toEqual([[0, 1], [0, 1], [0], [0]]);
  });

  it('is put together again for the model', () => {
    const layers = modelLayers(plan);
    expect(layers.map(({ layer, units }) => [layer, units.map(({ index }) => index)])).toEqual([
      [0, [0, 1, 2]],
      [1, [3]],
    ]);
    for (const layer of layers)
      expect(layer.geometry).toEqual(createPlan(schemeOf(base), geometry).layers[0]?.geometry);
  });

  it('a head has what each override says of it; the head after the last is refused', () => {
    const both = [
      { layers: [0], heads: [1], key: eight },
      { layers: [0], heads: [1], value: F16 },
    ];
    const unit = createPlan({ ...schemeOf(base), overrides: both }, geometry).layers.find(
      ({ layer, heads }) => layer === 0 && heads.includes(1),
    );
    expect([unit?.key.scheme, unit?.value.scheme]).toEqual([eight, F16]);
    const beyond = [{ layers: [0], heads: [HEADS], key: eight }];
    expect(() => createPlan({ ...schemeOf(base), overrides: beyond }, geometry)).toThrow(
      /GEOMETRY_INVALID: an override names a kv head/,
    );
  });

  it('splits nothing when all heads end up alike', () => {
    const all = {
      ...schemeOf(base),
      overrides: [{ layers: [0], heads: [0, 1, 2, 3], key: eight }],
    };
    const whole = { ...schemeOf(base), overrides: [{ layers: [0], key: eight }] };
    const [a, b] = [all, whole].map((scheme) => createPlan(scheme, geometry));
    expect(a?.layers).toEqual(b?.layers);
    expect(a?.layers).toHaveLength(2);
  });

  it('gives each unit the calibrated values of its heads', () => {
    const scheme: Scheme = {
      ...split,
      key: { ...base.key, transforms: [{ kind: 'channelScale', scope: 'model' }] },
      overrides: [{ layers: [0], heads: [1, 3], value: F16 }],
      calibration: { kind: 'offline', values: ['channelFactors'] },
    };
    const factors = Array.from({ length: HEADS }, (_, head) => Array(KEY_DIM).fill(1 + head));
    const calibration: Calibration = {
      specVersion: 1,
      scheme: schemeFingerprint(scheme),
      provenance: {},
      layers: [0, 1].map(() => ({ key: { channelFactors: factors } })),
    };
    const calibrated = createPlan(scheme, geometry, { calibration });
    expect(calibrated.layers.map(({ key }) => key.calibration?.channelFactors)).toEqual([
      [factors[0], factors[2]],
      [factors[1], factors[3]],
      factors,
    ]);
  });

  it.each<[string, Partial<Scheme>, RegExp]>([
    [
      'parameters over all heads',
      {
        key: { ...bands('midRise', 'allHeads') },
        overrides: [{ layers: [0], heads: [1], value: F16 }],
        calibration: { kind: 'offline', values: ['thresholds'] },
      },
      /share parameters over all heads/,
    ],
    [
      'a tensor scale of the sequence',
      {
        key: {
          ...eight,
          transforms: [
            { kind: 'tensorScale', scope: 'sequence', statisticsTokens: 9, largest: 448 },
          ],
        },
        overrides: [{ layers: [1], heads: [0], key: F16 }],
      },
      /share a tensor scale over all heads/,
    ],
    [
      'keys before and after the rotary embedding',
      {
        key: { ...eight, stage: 'pre-rope' },
        overrides: [{ layers: [1], heads: [0], key: F16 }],
        calibration: { kind: 'none' },
      },
      /take keys of two stages/,
    ],
  ])('refuses %s', (_, change, message) => {
    const error = refusal(() => createPlan({ ...split, ...change }, geometry));
    expect(error.code).toBe('PLAN_REFUSED');
    expect(error.message).toMatch(message);
  });
});
