// The rotary embedding: geometry, and rotation against complex numbers.
import { describe, expect, test } from 'vitest';
import { type Geometry, type RotaryEmbedding, resolveGeometry } from '../../src/index.js';
import { RotaryRotation } from '../../src/law/rotary.js';
import { lcgNormal, maxAbsDifference, rotateKeys } from '../../src/testing/index.js';
import { lawVectors } from './vectors.js';

const GEOMETRY = { layers: 2, queryHeads: 2, kvHeads: 1, keyHeadDim: 8, valueHeadDim: 8 };

const rotaryOf = (change: Partial<Geometry>, layer = 0) =>
  resolveGeometry({ ...GEOMETRY, ...change })[layer]!.rotary;

describe('geometry', () => {
  test('none by default, and none where a layer switches it off', () => {
    expect(rotaryOf({})).toBeNull();
    const layerOverrides = [{ layers: [-1], rotary: null }];
    expect(rotaryOf({ rotary: { pairs: 'halves' }, layerOverrides })).not.toBeNull();
    expect(rotaryOf({ rotary: { pairs: 'halves' }, layerOverrides }, 1)).toBeNull();
  });

  test('a base and dimensions become frequencies', () => {
    expect(rotaryOf({ rotary: { pairs: 'halves' } })).toEqual({
      pairs: 'halves',
      frequencies: [1, 10_000 ** (-2 / 8), 10_000 ** (-4 / 8), 10_000 ** (-6 / 8)],
    });
    expect(rotaryOf({ rotary: { pairs: 'adjacent', base: 16, dimensions: 4 } })).toEqual({
      pairs: 'adjacent',
      frequencies: [1, 0.25],
    });
    const frequencies = [0.5, 0.1, 0];
    expect(rotaryOf({ rotary: { pairs: 'halves', frequencies } })?.frequencies).toEqual(
      frequencies,
    );
  });

  test.each([
    [{ dimensions: 3 }, 'dimensions'],
    [{ dimensions: 10 }, 'dimensions'],
    [{ frequencies: [1, 1, 1, 1, 1] }, 'dimensions'],
    [{ frequencies: [1, 1], dimensions: 6 }, 'frequencies'],
    [{ frequencies: [1, 1], base: 10 }, 'base'],
    [{ frequencies: [1, Number.NaN] }, 'frequencies'],
    [{ frequencies: [] }, 'frequencies'],
    [{ base: 0 }, 'base'],
    [{ dimensions: 0 }, 'dimensions'],
    [{ pairs: 'quarters' }, 'pairs'],
    [{ theta: 10_000 }, 'theta'],
  ])('%j is refused', (rotary, part) => {
    expect(() => rotaryOf({ rotary: { pairs: 'halves', ...rotary } as never })).toThrow(
      expect.objectContaining({
        code: 'GEOMETRY_INVALID',
        message: expect.stringContaining(part),
      }),
    );
  });

  test('an odd head dim has no pairs for its last channel', () => {
    expect(() => rotaryOf({ keyHeadDim: 7, rotary: { pairs: 'halves' } })).toThrow(/dimensions/);
    expect(rotaryOf({ keyHeadDim: 7, rotary: { pairs: 'halves', dimensions: 6 } })).not.toBeNull();
  });
});

describe.each<[string, RotaryEmbedding, number]>([
  ['halves', { pairs: 'halves', frequencies: [1, 0.1, 0.02] }, 6],
  ['adjacent pairs', { pairs: 'adjacent', frequencies: [1, 0.1, 0.02] }, 6],
  ['part of the channels in halves', { pairs: 'halves', frequencies: [0.7, 0.003] }, 9],
  ['part of the channels in pairs', { pairs: 'adjacent', frequencies: [0.7, 0.003] }, 9],
])('%s', (_name, embedding, dim) => {
  const rotation = new RotaryRotation(embedding);
  const keys = Float64Array.from(lcgNormal({ seed: 3, shape: [2, dim], dtype: 'f32' }));

  test('by hand at position 0 and by a quarter turn', () => {
    const unmoved = keys.slice();
    rotation.rotate(unmoved, 0, 0);
    expect(unmoved).toEqual(keys);
    const quarter = new RotaryRotation({ ...embedding, frequencies: [Math.PI / 2] });
    const turned = keys.slice();
    quarter.rotate(turned, dim, 1);
    const expected = keys.slice();
    // One pair: both layouts turn channels 0 and 1.
    expected[dim] = -keys[dim + 1]!;
    expected[dim + 1] = keys[dim]!;
    expect(maxAbsDifference(turned, expected)).toBeLessThan(1e-15);
  });

  test('agrees with the plain embedding at any position', () => {
    for (const position of [1, 2, 63, 64, 65, 1000, 70_000]) {
      const many = new Float64Array((position + 1) * dim);
      many.set(keys.subarray(0, dim), position * dim);
      const shape = { tokens: position + 1, kvHeads: 1, keyDim: dim };
      const expected = rotateKeys(many, shape, embedding).subarray(position * dim);
      const actual = keys.slice(0, dim);
      rotation.rotate(actual, 0, position);
      // The plain one adds angles, and an angle of p has rounding errors of p.
      expect(maxAbsDifference(actual, expected)).toBeLessThan(1e-14 + position * 2 ** -52);
      expect(maxAbsDifference(actual, keys.subarray(0, dim))).toBeGreaterThan(0.01);
      // What is beyond the rotated dimensions stays.
      const rest = 2 * embedding.frequencies.length;
      expect(actual.slice(rest)).toEqual(keys.slice(rest, dim));
    }
  });

  test('dot products depend on the distance alone', () => {
    const dot = (query: number, key: number) => {
      const [a, b] = [keys.slice(0, dim), keys.slice(dim)];
      rotation.rotate(a, 0, query);
      rotation.rotate(b, 0, key);
      return a.reduce((sum, x, c) => sum + x * b[c]!, 0);
    };
    expect(Math.abs(dot(907, 900) - dot(7, 0))).toBeLessThan(1e-12);
    expect(Math.abs(dot(907, 900) - dot(8, 0))).toBeGreaterThan(1e-3);
  });
});

test.each(lawVectors.rotary)('$pairs at $position, vector of the independent program', (row) => {
  const key = Float64Array.from(row.key);
  new RotaryRotation(row).rotate(key, 0, row.position);
  expect(maxAbsDifference(key, row.rotated)).toBeLessThan(1e-12);
});
