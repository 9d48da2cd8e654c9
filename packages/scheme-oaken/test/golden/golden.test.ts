// What the authors' artifact computed: profiles and fake quantization bit for bit, errors of the package's encoding.
import { f32ToF16, roundToF16 } from '@lowbit-kv/core';
import { describe, expect, test } from 'vitest';
import { readCounts } from '../../../core/test/support/golden-file.js';
import { oakenArtifact } from '../../src/compat/index.js';
import { sequence } from '../support.js';
import {
  cases,
  compareArtifact,
  compareErrors,
  compareProfile,
  golden,
  profiles,
  thresholdsOf,
} from './cases.js';

interface IndexEntry {
  readonly key: string;
  readonly rmse_authors: number;
  readonly rmse_normative_sm: number;
  readonly rmse_normative_mm: number;
}

const counts = readCounts<IndexEntry>('oaken');

test('the files hold what they are known to hold', () => {
  expect(cases).toHaveLength(15);
  expect(profiles).toHaveLength(4);
});

describe('fake quantization', () => {
  test.each(cases)('$key', (one) => {
    const { groups, decoded, found } = compareArtifact(one);
    const elements = one.shape.reduce((product, size) => product * size);
    expect(groups).toEqual({ equal: elements, of: elements });
    expect(decoded).toEqual({ equal: elements, of: elements });
    const [, tokens, width] = one.shape;
    const broken = Array.from({ length: tokens }, (_, token) => token).filter((token) =>
      found.subarray(token * width, (token + 1) * width).every(Number.isNaN),
    );
    expect(broken).toEqual(one.nan_tokens);
  });
});

test.each(profiles)('thresholds: $key', async (profile) => {
  const { averages, calibrated } = await compareProfile(profile);
  expect(averages).toEqual({ equal: 12, of: 12 });
  expect(calibrated).toEqual({ equal: 8, of: 8 });
  // The file also has the averages as f32.
  const { upper_threshold: upper } = profile.json.key;
  expect(golden.f32(`${profile.key}.k.upper`)).toEqual(Float32Array.from(upper[0] as number[]));
});

describe('errors of the encoding against the artifact', () => {
  test.each(cases.filter(({ variant }) => variant === 'full'))('$key', async (one) => {
    const { original, sm, mm } = await compareErrors(one);
    const counted = counts(one.key);
    expect(original).toBeCloseTo(counted.rmse_authors, 4);
    expect(sm).toBeCloseTo(counted.rmse_normative_sm, 4);
    // The counting program gives a few middle values other codes than the law does.
    expect(Math.abs(mm / counted.rmse_normative_mm - 1)).toBeLessThan(0.002);
    if (one.kind === 'biased') expect(sm).toBeGreaterThan(1.2 * original);
    else expect(sm).toBeLessThan(original);
    expect(mm).toBeLessThan(1.12 * original);
  });
});

describe('simulation', () => {
  const variants = { full: 'full', no_shift: 'no-shift', middle_only: 'middle-only' } as const;

  test.each(cases)('$key: one forward, then another', (one) => {
    const [, tokens, width] = one.shape;
    const bits = golden.f16(one.x);
    const thresholds = thresholdsOf(one.x.slice(0, -'.x'.length));
    const layer = oakenArtifact({ variant: variants[one.variant] }).createLayer({
      layer: 0,
      kvHeads: 2,
      keyHeadDim: width / 2,
      valueHeadDim: width / 2,
      calibration: { key: { thresholds }, value: { thresholds } },
    });
    layer.append(bits, bits);
    const first = layer.keys();
    expect(Uint16Array.from(first, f32ToF16Plain)).toEqual(
      Uint16Array.from(golden.f16Values(one.key), f32ToF16Plain),
    );
    expect(layer.values()).toEqual(first);
    // A second forward has its own ranges and leaves the first as it was.
    layer.append(bits.subarray(0, width), bits.subarray(0, width));
    const both = layer.keys();
    expect(both.subarray(0, first.length)).toEqual(first);
    expect(both).toHaveLength((tokens + 1) * width);
    expect(layer.counts().key).toEqual({ sinks: 0, quantized: tokens + 1, recent: 0 });
  });

  test('calibration and sizes are asked for', async () => {
    const shape = { layer: 3, kvHeads: 1, keyHeadDim: 64, valueHeadDim: 64 };
    const simulation = oakenArtifact();
    expect(() => simulation.createLayer(shape)).toThrow(
      expect.objectContaining({ code: 'CALIBRATION_MISSING' }),
    );
    const key = golden.f16Values('profile.t5.k.x');
    const sample = { layer: 0, tokens: key.length / 64, kvHeads: 1, key, value: key };
    const [calibration] = (await simulation.calibrate?.(sequence([sample]))) ?? [];
    if (calibration === undefined) throw new Error('not calibrated');
    const layer = simulation.createLayer({ ...shape, calibration });
    expect(() => layer.append(new Uint16Array(64), new Uint16Array(63))).toThrow(
      expect.objectContaining({ code: 'TENSOR_INVALID' }),
    );
    expect(layer.counts().key.quantized).toBe(0);
  });
});

/** -0 counts as +0. */
function f32ToF16Plain(value: number): number {
  return f32ToF16(roundToF16(value) + 0);
}
