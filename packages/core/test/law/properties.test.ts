// Properties every quantizer of the law holds on any finite input, checked against exact rational arithmetic.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeF16, f16ToF32, isFiniteF16 } from '../../src/float16.js';
import { quantizeAsymmetric } from '../../src/law/asymmetric.js';
import { quantizeHybrid } from '../../src/law/hybrid.js';
import { quantizeSymmetric, type SymmetricCodes, signedCode } from '../../src/law/symmetric.js';
import { finiteGroup, nearestExactly } from './exact.js';

const BITS = [1, 2, 3, 4, 8] as const;
const SMALLEST = 2 ** -14;

interface Quantized {
  readonly codes: Uint8Array;
  readonly scale: number;
  readonly zero: number;
}

function asymmetric(values: Float32Array, bits: number): Quantized {
  const codes = new Uint8Array(values.length).fill(0xee);
  const scales = new Uint16Array(1);
  const zeros = new Uint16Array(1);
  quantizeAsymmetric(values, 1, values.length, bits, codes, scales, zeros);
  return { codes, scale: scales[0]!, zero: zeros[0]! };
}

function symmetric(values: Float32Array, bits: number, set: SymmetricCodes): Quantized {
  const codes = new Uint8Array(values.length).fill(0xee);
  const scales = new Uint16Array(1);
  quantizeSymmetric(values, 1, values.length, bits, set, codes, scales);
  return { codes, scale: scales[0]!, zero: 0 };
}

const decodeAsymmetric = ({ codes, scale, zero }: Quantized) =>
  Float32Array.from(codes, (code) => code * f16ToF32(scale) + f16ToF32(zero));
const decodeSymmetric = ({ codes, scale }: Quantized, bits: number) =>
  Float32Array.from(codes, (code) => signedCode(code, bits) * f16ToF32(scale));

const bits = fc.constantFrom(...BITS);
const widerBits = fc.constantFrom(2, 3, 4, 8);
/** f32 that is not f16, as after a channel scale: an f16 value times an f16 reciprocal. */
const scaled = fc
  .tuple(finiteGroup, fc.integer({ min: 0x2000, max: 0x5000 }))
  .map(([values, reciprocal]) => values.map((value) => value * f16ToF32(reciprocal)));
const anyGroup = fc.oneof(finiteGroup, scaled);

function checkScale(scale: number): void {
  expect(isFiniteF16(scale)).toBe(true);
  const magnitude = Math.abs(f16ToF32(scale));
  if (magnitude !== 0) expect(magnitude).toBeGreaterThanOrEqual(SMALLEST);
}

describe('asymmetric groups', () => {
  it('have finite parameters, codes inside their bits, and the codes of exact arithmetic', () => {
    fc.assert(
      fc.property(anyGroup, bits, (values, b) => {
        const result = asymmetric(values, b);
        checkScale(result.scale);
        expect(isFiniteF16(result.zero) && result.zero !== 0x8000).toBe(true);
        const scale = f16ToF32(result.scale);
        expect(scale).toBeGreaterThanOrEqual(0);
        const largest = 2 ** b - 1;
        for (const [i, value] of values.entries()) {
          const difference = Math.fround(value - f16ToF32(result.zero));
          const expected =
            scale === 0 ? 0 : Math.min(Math.max(nearestExactly(difference, scale), 0), largest);
          if (result.codes[i] !== expected)
            expect.fail(`element ${i} of [${values}]: ${result.codes[i]}, exactly ${expected}`);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('come back within half a step and the roundings of the parameters', () => {
    fc.assert(
      fc.property(finiteGroup, bits, (values, b) => {
        const result = asymmetric(values, b);
        const scale = f16ToF32(result.scale);
        const largest = 2 ** b - 1;
        const range = Math.max(...values) - Math.min(...values);
        // A range too small for a scale is dropped; a range too large for one saturates it.
        const clipped = Math.max(0, range - largest * scale);
        const slack = Math.max(clipped - scale / 2, 0) + range * 2 ** -22 + 2 ** -7 * 2 ** -14;
        const decoded = decodeAsymmetric(result);
        for (const [i, value] of values.entries())
          expect(Math.abs(decoded[i]! - value)).toBeLessThanOrEqual(
            scale / 2 + slack + Math.abs(value) * 2 ** -23,
          );
      }),
      { numRuns: 1000 },
    );
  });

  it('hold a constant exactly, and are the same when made again from what they decode to', () => {
    fc.assert(
      fc.property(finiteGroup, bits, (values, b) => {
        const constant = new Float32Array(values.length).fill(values[0]!);
        expect(decodeAsymmetric(asymmetric(constant, b)).every((v) => v === values[0])).toBe(true);
        const once = asymmetric(values, b);
        const decoded = decodeAsymmetric(once);
        // Values above 65504 are no input, and a code that was never used leaves the range.
        fc.pre(once.codes.includes(2 ** b - 1) && decoded.every((v) => Math.abs(v) <= 65504));
        // One rounding of zero + code * scale must not move the range by half an f16 step of the scale.
        fc.pre(
          decoded.every(
            (v, i) => v === once.codes[i]! * f16ToF32(once.scale) + f16ToF32(once.zero),
          ),
        );
        const twice = asymmetric(decoded, b);
        expect(twice).toEqual(once);
      }),
      { numRuns: 1000 },
    );
  });
});

describe.each(['signmag', 'full', 'fullSigned'] as const)('symmetric %s groups', (set) => {
  const width = set === 'signmag' ? widerBits : bits;
  const limits = (b: number): [number, number] => [
    set === 'signmag' ? 1 - 2 ** (b - 1) : -(2 ** (b - 1)),
    2 ** (b - 1) - 1,
  ];

  it('have a finite scale, codes inside their set, and the codes of exact arithmetic', () => {
    fc.assert(
      fc.property(anyGroup, width, (values, b) => {
        const { codes, scale: bitsOfScale } = symmetric(values, b, set);
        checkScale(bitsOfScale);
        const scale = f16ToF32(bitsOfScale);
        const [lowest, highest] = limits(b);
        if (set !== 'fullSigned') expect(scale).toBeGreaterThanOrEqual(0);
        for (const [i, value] of values.entries()) {
          const expected =
            scale === 0 ? 0 : Math.min(Math.max(nearestExactly(value, scale), lowest), highest);
          expect(codes[i]! >> b).toBe(0);
          if (signedCode(codes[i]!, b) !== expected)
            expect.fail(`element ${i} of [${values}]: ${codes[i]}, exactly ${expected}`);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('come back within half a step where nothing is clipped', () => {
    fc.assert(
      fc.property(finiteGroup, width, (values, b) => {
        const result = symmetric(values, b, set);
        const scale = f16ToF32(result.scale);
        const [lowest, highest] = limits(b);
        const decoded = decodeSymmetric(result, b);
        for (const [i, value] of values.entries()) {
          const quotient = scale === 0 ? 0 : value / scale;
          if (quotient < lowest || quotient > highest) continue;
          // A scale of zero drops what is too small for one.
          const dropped = scale === 0 ? 2 ** (b - 1) * 2 ** -25 : 0;
          expect(Math.abs(decoded[i]! - value)).toBeLessThanOrEqual(Math.abs(scale) / 2 + dropped);
        }
      }),
      { numRuns: 1000 },
    );
  });

  it('put zero on zero', () => {
    expect(symmetric(new Float32Array(8), 4, set)).toEqual({
      codes: new Uint8Array(8),
      scale: 0,
      zero: 0,
    });
  });
});

it('signmag groups are the same when made again from what they decode to', () => {
  fc.assert(
    fc.property(finiteGroup, widerBits, (values, b) => {
      const once = symmetric(values, b, 'signmag');
      const decoded = decodeSymmetric(once, b);
      const top = 2 ** (b - 1) - 1;
      fc.pre(once.codes.some((code) => Math.abs(signedCode(code, b)) === top));
      expect(symmetric(decoded, b, 'signmag')).toEqual(once);
    }),
    { numRuns: 2000 },
  );
});

it('fullSigned puts the first largest magnitude on the most negative code', () => {
  fc.assert(
    fc.property(finiteGroup, bits, (values, b) => {
      const { codes, scale } = symmetric(values, b, 'fullSigned');
      const magnitudes = [...values].map(Math.abs);
      const index = magnitudes.indexOf(Math.max(...magnitudes));
      // Below the smallest scale, and above the largest, the value lands elsewhere.
      fc.pre(magnitudes[index]! >= 2 ** (b - 1) * SMALLEST && magnitudes[index]! <= 65504);
      expect(signedCode(codes[index]!, b)).toBe(-(2 ** (b - 1)));
      expect(Math.sign(f16ToF32(scale))).toBe(-Math.sign(values[index]!));
    }),
    { numRuns: 1000 },
  );
});

describe.each([
  ['full', 2, 'symmetric'],
  ['signmag', 1, 'asymmetric'],
] as const)('hybrid %s groups with %d-bit asymmetric codes', (set, asymmetricBits, tie) => {
  it('are one of the two, and the other is not better', () => {
    fc.assert(
      fc.property(fc.array(anyGroup, { minLength: 1, maxLength: 3 }), (groups) => {
        const size = Math.min(...groups.map((group) => group.length));
        const values = Float32Array.from(groups.flatMap((group) => [...group.slice(0, size)]));
        const codes = new Uint8Array(values.length);
        const scales = new Uint16Array(groups.length);
        const zeros = new Uint16Array(groups.length);
        const rule = { codes: set, asymmetricBits, tie };
        quantizeHybrid(values, groups.length, size, 2, rule, codes, scales, zeros);
        for (let g = 0; g < groups.length; g++) {
          const part = values.subarray(g * size, (g + 1) * size);
          const options = {
            symmetric: symmetric(part, 2, set),
            asymmetric: asymmetric(part, asymmetricBits),
          };
          const error = (decoded: Float32Array) =>
            part.reduce((sum, value, i) => sum + Math.abs(decoded[i]! - value), 0);
          const errors = {
            symmetric: error(decodeSymmetric(options.symmetric, 2)),
            asymmetric: error(decodeAsymmetric(options.asymmetric)),
          };
          const chosen = (scales[g]! & 0x8000) === 0 ? 'symmetric' : 'asymmetric';
          const rest = chosen === 'symmetric' ? 'asymmetric' : 'symmetric';
          expect(codes.slice(g * size, (g + 1) * size)).toEqual(options[chosen].codes);
          expect(scales[g]! & 0x7fff).toBe(options[chosen].scale);
          expect(zeros[g]).toBe(options[chosen].zero);
          // The law sums in f32: sums nearer than its roundings may fall either way.
          expect(errors[chosen]).toBeLessThanOrEqual(errors[rest] * (1 + 2 ** -18));
          if (errors.symmetric === 0 && errors.asymmetric === 0) expect(chosen).toBe(tie);
        }
      }),
      { numRuns: 1000 },
    );
  });
});

it('groups of one call do not see one another', () => {
  fc.assert(
    fc.property(fc.array(finiteGroup, { minLength: 2, maxLength: 4 }), bits, (groups, b) => {
      const size = Math.min(...groups.map((group) => group.length));
      const parts = groups.map((group) => group.slice(0, size));
      const values = Float32Array.from(parts.flatMap((part) => [...part]));
      const codes = new Uint8Array(values.length);
      const scales = new Uint16Array(parts.length);
      const zeros = new Uint16Array(parts.length);
      quantizeAsymmetric(values, parts.length, size, b, codes, scales, zeros);
      for (const [g, part] of parts.entries())
        expect({
          codes: codes.slice(g * size, (g + 1) * size),
          scale: scales[g],
          zero: zeros[g],
        }).toEqual(asymmetric(part, b));
    }),
  );
});

it('decodes f16 groups of the generator to finite f32', () => {
  // Guards the generator itself: it must reach subnormals, extremes and both signs.
  const seen = fc.sample(finiteGroup, 500).flatMap((group) => [...group]);
  expect(seen.every(Number.isFinite)).toBe(true);
  expect(seen.some((value) => value !== 0 && Math.abs(value) < SMALLEST)).toBe(true);
  expect(seen.some((value) => Math.abs(value) > 60000)).toBe(true);
  expect(seen.some((value) => value < 0) && seen.some((value) => value > 0)).toBe(true);
  expect(decodeF16(Uint16Array.of(0x0001))[0]).toBe(2 ** -24);
});
