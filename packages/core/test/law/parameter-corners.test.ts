// Corners of the stored parameters where two implementations could drift apart.
import { describe, expect, it } from 'vitest';
import { decodeF16, encodeF16, f16ToF32, roundToF16 } from '../../src/float16.js';
import { quantizeAsymmetric } from '../../src/law/asymmetric.js';
import { asymmetricKernel } from '../../src/law/asymmetric-f16.js';
import { type BandThresholds, decodeShifted } from '../../src/law/bands.js';
import { bandVector, quantizeBands } from '../../src/law/quantize-bands.js';
import { lcgNormal } from '../../src/testing/normal.js';

function asymmetric(values: number[], bits = 2) {
  const codes = new Uint8Array(values.length).fill(99);
  const scales = new Uint16Array(1);
  const zeros = new Uint16Array(1);
  quantizeAsymmetric(Float32Array.from(values), 1, values.length, bits, codes, scales, zeros);
  return { codes: [...codes], scale: scales[0] as number, zero: zeros[0] as number };
}

describe('asymmetric parameters', () => {
  it('stores a zero of +0 whichever of -0 and +0 comes first', () => {
    const expected = { codes: [0, 0, 3], scale: 0x3555, zero: 0 };
    expect(asymmetric([0, -0, 1])).toEqual(expected);
    expect(asymmetric([-0, 0, 1])).toEqual(expected);
    expect(asymmetric([-(2 ** -30), 0, 1])).toEqual(expected);
  });

  it('treats a constant that rounds up to f16 as an empty range', () => {
    const constant = Math.fround(1 + 3 * 2 ** -12);
    expect(roundToF16(constant)).toBeGreaterThan(constant);
    expect(asymmetric([constant, constant, constant])).toEqual({
      codes: [0, 0, 0],
      scale: 0,
      zero: 0x3c01,
    });
  });

  it('keeps a tiny positive range at the smallest scale', () => {
    const constant = Math.fround(1 + 2 ** -12);
    expect(roundToF16(constant)).toBeLessThan(constant);
    expect(f16ToF32(asymmetric([constant, constant], 4).scale)).toBe(2 ** -14);
  });

  it('rounds a difference to f32 before it is divided', () => {
    // 2.5 + 2^-24 is the tie 2.5 in f32, and above it in double precision.
    expect(asymmetric([-(2 ** -24), 3, 2.5, 0]).codes).toEqual([0, 3, 2, 0]);
  });
});

describe('the fast path of f16 groups', () => {
  /** One group of four values. */
  function measured(values: readonly number[], bits: 2 | 4) {
    const kernel = asymmetricKernel();
    const tokens = encodeF16(Float32Array.from(values));
    const place = { heads: 1, headDim: 4, first: 0, count: 1, head: 0, channelMajor: false };
    kernel.load({ tokens, ...place });
    return { kernel, finite: kernel.measure(1, 4, bits) };
  }

  it.each([
    [2, -0.0019521713256835938, 15.8359375, 17736],
    [2, -0.12493896484375, 899.5, 23728],
    [4, -32.96875, 1130, 21721],
    [4, -0.005950927734375, 1.40625, 11783],
  ] as const)(
    'multiplies ranges with a reciprocal in f32: %i bits, %d to %d',
    (bits, low, high, scale) => {
      // With 1/3 or 1/15 in double precision each of these scales is one f16 step smaller.
      const values = [low, high, low, high];
      expect(asymmetric(values, bits).scale).toBe(scale);
      const { kernel, finite } = measured(values, bits);
      expect(finite).toBe(true);
      expect(kernel.scales[0]).toBe(scale);
    },
  );

  it('sees a tie where the product with an inexact 1 / scale falls beside it', () => {
    // 8.1640625 is 7.5 steps of 1.1552734375 above the minimum.
    const values = [8.1640625, -0.50048828125, 16.828125, 0];
    expect(asymmetric(values, 4).codes).toEqual([8, 0, 15, 0]);
    for (let turn = 0; turn < 4; turn++) {
      const turned = [...values.slice(turn), ...values.slice(0, turn)];
      const { kernel } = measured(turned, 4);
      const page = new Uint8Array(2);
      kernel.pack(1, 4, 4, page, 0, 2);
      expect([...page].flatMap((byte) => [byte & 15, byte >> 4])).toEqual(
        asymmetric(turned, 4).codes,
      );
    }
  });

  it.each([
    [65504, true],
    [-65504, true],
    [Number.POSITIVE_INFINITY, false],
    [Number.NEGATIVE_INFINITY, false],
    [Number.NaN, false],
  ])('takes groups with %d: %s', (value, taken) => {
    for (const at of [0, 1]) {
      const values = [0, 1, 2, 3];
      values[at] = value;
      expect(measured(values, 4).finite).toBe(taken);
    }
  });
});

describe('band parameters', () => {
  function banded(values: readonly number[], edges: BandThresholds) {
    const quantized = bandVector(values.length);
    quantizeBands(Float32Array.from(values), edges, 'uniform', quantized);
    return { nibbles: [...quantized.nibbles], parameters: quantized.parameters };
  }

  it('raise a step that leaves the high side of the middle no code at or above zero', () => {
    const edges = { outerLow: -1.75, outerHigh: 1.5, innerLow: -0.125, innerHigh: 0.125 };
    const { nibbles, parameters } = banded([-0.1259765625, 0.125], edges);
    expect(nibbles).toEqual([0, 15]);
    const [minimum, step] = [f16ToF32(parameters.middleMinimum), f16ToF32(parameters.middleStep)];
    // The nearest f16 step is the one before: 15 of it end just below zero.
    expect(minimum + 15 * f16ToF32(parameters.middleStep - 1)).toBeLessThan(0);
    expect(decodeShifted(15, minimum, step, edges)).toBeGreaterThanOrEqual(0.125);
  });

  it('rounds the codes of a band half to even', () => {
    const edges = { outerLow: -1, outerHigh: 1, innerLow: -0.5, innerHigh: 0.5 };
    const { nibbles, parameters } = banded([1, 16, 1.5, 2.5, 3.5, -4.5], edges);
    expect(f16ToF32(parameters.outerStep)).toBe(1);
    expect(nibbles).toEqual([0, 15, 0, 2, 2, 4]);
  });

  it('never stores a negative step, also for a single outer element of an outlier channel', () => {
    const tokens = 300;
    const dim = 64;
    const channelOps = [{ channel: 3, mul: 20, add: 0 }];
    const bits = lcgNormal({ seed: 5, shape: [tokens, dim], dtype: 'f16', std: 0.25, channelOps });
    const outer = roundToF16(1.2371);
    const inner = roundToF16(0.0817);
    const edges: BandThresholds = {
      outerLow: -outer,
      outerHigh: outer,
      innerLow: -inner,
      innerHigh: inner,
    };
    const steps: number[] = [];
    for (const middle of ['midRise', 'uniform'] as const) {
      for (let token = 0; token < tokens; token++) {
        const quantized = bandVector(dim);
        const vector = decodeF16(bits.subarray(token * dim, (token + 1) * dim));
        quantizeBands(vector, edges, middle, quantized);
        const { parameters } = quantized;
        steps.push(parameters.outerStep, parameters.innerStep, parameters.middleStep);
      }
    }
    expect(steps.filter((step) => step === 0x0400 || step === 0).length).toBeGreaterThan(100);
    expect(steps.filter((step) => (step & 0x8000) !== 0)).toEqual([]);
  });
});
