// The authors' arithmetic as schemes, and the simulation of their cache: what is asked for, and where it is unlike ours.
import { createPlan, defineScheme, f32ToF16, schemeFingerprint } from '@lowbit-kv/core';
import { lcgNormal } from '@lowbit-kv/core/testing';
import { describe, expect, test } from 'vitest';
import {
  compatPresets,
  innerqFp16,
  innerqFp16Codec,
  innerqRepository,
  simulations,
} from '../src/compat/index.js';

// A change here orphans every stored snapshot of the preset.
const FINGERPRINTS: Record<string, string> = {
  'innerq-fp16-base': 'c9935840d5af884484ed707ac6c7c68118c840719ddf128c419b17a4926e0e80',
  'innerq-fp16-small': '6ffd936685a526117e57ff1605e073b5b3857b75896492573d5988f9158703c0',
  'innerq-fp16-hybrid': '5be32f0e5e107e6e0c90ee941136ffbb93ff2b7e61bf8521f68ad66ed0cc5ce7',
};

test('ids', () => {
  expect(compatPresets.map(({ id }) => id)).toEqual(Object.keys(FINGERPRINTS));
});

test.each(compatPresets)('$id keeps its fingerprint', (scheme) => {
  expect(schemeFingerprint(scheme)).toBe(FINGERPRINTS[scheme.id]);
});

test.each(compatPresets)('$id survives JSON, its codecs do not', (scheme) => {
  const geometry = { layers: 1, queryHeads: 1, kvHeads: 1, keyHeadDim: 64, valueHeadDim: 64 };
  const copy = defineScheme(JSON.parse(JSON.stringify({ ...scheme, codecs: undefined })));
  expect(schemeFingerprint(copy)).toBe(schemeFingerprint(scheme));
  expect(() => createPlan(copy, geometry)).toThrow(
    expect.objectContaining({ code: 'CODEC_MISSING' }),
  );
  const plan = createPlan(copy, geometry, { codecs: scheme.codecs ?? [] });
  expect(plan.fingerprint).toBe(createPlan(scheme, geometry).fingerprint);
});

test('options name what they are', () => {
  expect(compatPresets.every(({ compat }) => compat === 'innerq-fp16')).toBe(true);
  expect(innerqFp16({ variant: 'small', keyFlush: 32, sinks: 0, recent: 64 }).id).toBe(
    'innerq-fp16-small-key-flush-32-s0-r64',
  );
  expect(innerqFp16({ variant: 'base', id: 'mine' }).id).toBe('mine');
  expect(() => innerqFp16({ variant: 'large' } as never)).toThrow(
    expect.objectContaining({ code: 'OPTION_INVALID' }),
  );
});

describe('groups by hand', () => {
  const run = (mode: 'symmetric' | 'asymmetric' | 'hybrid', values: readonly number[]) => {
    const codec = innerqFp16Codec(mode, 2, 8);
    const bytes = new Uint8Array(codec.groupBytes);
    const decoded = new Float32Array(8);
    codec.encodeGroup(Float32Array.from(values), bytes);
    codec.decodeGroup(bytes, decoded);
    return { bytes, decoded: [...decoded] };
  };
  const near = (values: readonly number[]) => values.map((value) => expect.closeTo(value, 3));

  test('hybrid takes one bit asymmetric: levels minimum and maximum', () => {
    const { bytes, decoded } = run('hybrid', [0.9, 0.95, 1, 1.02, 1.05, 1.08, 1.1, 1.12]);
    expect(decoded).toEqual(near([0.9, 0.9, 0.9, 1.12, 1.12, 1.12, 1.12, 1.12]));
    expect((bytes[3] as number) & 0x80).toBe(0x80);
  });

  test('hybrid takes ternary symmetric', () => {
    const { bytes, decoded } = run('hybrid', [-1, -0.05, 0, 0.02, 0.03, 0.9, 0.04, 1]);
    expect(decoded).toEqual([-1, 0, 0, 0, 0, 1, 0, 1]);
    expect((bytes[3] as number) & 0x80).toBe(0);
    expect([...bytes.subarray(4)]).toEqual([0, 0]);
  });

  test('a range beyond f16: NaN, and minus infinity where the difference is not finite', () => {
    const { decoded } = run('asymmetric', [-40000, 0, 0, 0, 0, 0, 0, 40000]);
    expect(decoded).toEqual([...new Array(7).fill(Number.NaN), Number.NEGATIVE_INFINITY]);
  });

  test('zeros', () => {
    expect(run('symmetric', new Array(8).fill(0)).decoded).toEqual(new Array(8).fill(0));
    expect(run('hybrid', new Array(8).fill(0)).decoded).toEqual(new Array(8).fill(0));
  });
});

describe('simulation of the repository', () => {
  const shape = { layer: 0, kvHeads: 2, keyHeadDim: 64, valueHeadDim: 32 };
  const tokens = (count: number, dim: number, seed: number) =>
    lcgNormal({ seed, shape: [count, 2, dim], dtype: 'f16' });

  test('settings', () => {
    expect(simulations.map(({ id }) => id)).toEqual([
      'innerq-repository-base',
      'innerq-repository-small',
      'innerq-repository-hybrid',
      'innerq-repository-kivi',
      'innerq-repository-kivi-sink',
    ]);
  });

  test('heads are kept apart: two heads are two layers of one head', () => {
    const both = innerqRepository('hybrid').createLayer(shape);
    const [key, value] = [tokens(200, 64, 5), tokens(200, 32, 6)];
    both.append(key, value);
    for (const head of [0, 1]) {
      const one = innerqRepository('hybrid').createLayer({ ...shape, kvHeads: 1 });
      const own = (data: Uint16Array, dim: number) =>
        data.filter((_, i) => Math.floor(i / dim) % 2 === head);
      one.append(own(key, 64), own(value, 32));
      const ownValues = (data: Float32Array, dim: number) =>
        data.filter((_, i) => Math.floor(i / dim) % 2 === head);
      expect(ownValues(both.keys(), 64)).toEqual(one.keys());
      expect(ownValues(both.values(), 32)).toEqual(one.values());
      expect(both.groups('value', head)).toEqual(one.groups('value', 0));
    }
  });

  test('factors come from the first quantized tokens and stay', () => {
    const layer = innerqRepository('base').createLayer(shape);
    layer.append(tokens(128, 64, 1), tokens(128, 32, 2));
    expect(layer.keyFactors()).toBeNull();
    layer.append(tokens(1, 64, 3), tokens(1, 32, 4));
    const factors = layer.keyFactors();
    // The token at position 32 alone.
    const first = layer.groups('key', 0).length;
    expect(first).toBe(2);
    expect(factors?.every((n) => n > 0)).toBe(true);
    layer.append(tokens(1, 64, 7), tokens(1, 32, 8));
    expect(layer.keyFactors()).toEqual(factors);
  });

  test('an exact zero in the first quantized token makes its group NaN for good', () => {
    const layer = innerqRepository('base').createLayer(shape);
    const key = tokens(129, 64, 1);
    key[32 * 128 + 3] = 0;
    layer.append(key, tokens(129, 32, 2));
    layer.append(tokens(1, 64, 3), tokens(1, 32, 4));
    const row = (token: number) => layer.keys().subarray(token * 128, token * 128 + 64);
    for (const token of [32, 33]) {
      expect(row(token).subarray(0, 32)).toEqual(new Float32Array(32).fill(Number.NaN));
      expect(row(token).subarray(32).every(Number.isFinite)).toBe(true);
    }
  });

  test('groups that do not fit and broken calls are refused', () => {
    expect(() => innerqRepository('base').createLayer({ ...shape, keyHeadDim: 48 })).toThrow(
      expect.objectContaining({ code: 'SHAPE_UNSUPPORTED' }),
    );
    const layer = innerqRepository('base').createLayer(shape);
    for (const [key, value] of [
      [tokens(2, 64, 1), tokens(1, 32, 1)],
      [new Uint16Array(0), new Uint16Array(0)],
      [new Uint16Array(7).fill(f32ToF16(1)), tokens(1, 32, 1)],
    ] as const) {
      expect(() => layer.append(key, value)).toThrow(
        expect.objectContaining({ code: 'TENSOR_INVALID' }),
      );
    }
    expect(layer.counts().key).toEqual({ sinks: 0, quantized: 0, recent: 0 });
  });
});
