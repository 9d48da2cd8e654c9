// binary16 conversion against an independent implementation, over every pattern and over hard f32 inputs.
import { f16round, getFloat16 } from '@petamoriken/float16';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decodeF16,
  encodeF16,
  F16_MAX,
  F16_SMALLEST_NORMAL,
  f16DecodeTable,
  f16ToF32,
  f32ToF16,
  isFiniteF16,
  roundToF16,
} from '../../src/float16.js';

const view = new DataView(new ArrayBuffer(4));
const halfOf = (bits: number) => {
  view.setUint16(0, bits);
  return getFloat16(view, 0);
};
const floatOf = (bits: number) => {
  view.setUint32(0, bits);
  return view.getFloat32(0);
};
const isNaN16 = (bits: number) => (bits & 0x7fff) > 0x7c00;

describe('f16 decode', () => {
  it('agrees on all 65536 patterns, table and function, signs of zero included', () => {
    const table = f16DecodeTable();
    const wrong: number[] = [];
    for (let bits = 0; bits < 65536; bits++) {
      const expected = halfOf(bits);
      if (!Object.is(f16ToF32(bits), expected) || !Object.is(table[bits], expected))
        wrong.push(bits);
    }
    expect(wrong).toEqual([]);
    expect(table.length).toBe(65536);
  });

  it('tells finite patterns from the others', () => {
    for (let bits = 0; bits < 65536; bits++)
      if (isFiniteF16(bits) !== Number.isFinite(halfOf(bits)))
        expect.fail(`0x${bits.toString(16)}`);
  });
});

describe('f16 encode', () => {
  it('returns every pattern unchanged; NaN becomes the quiet NaN of its sign', () => {
    const all = Uint16Array.from({ length: 65536 }, (_, i) => i);
    const back = encodeF16(decodeF16(all));
    const wrong = [...all].filter((bits) =>
      isNaN16(bits) ? (back[bits]! & 0x7fff) !== 0x7e00 : back[bits] !== bits,
    );
    expect(wrong).toEqual([]);
  });

  it('rounds what lies between two neighbours to the nearer, and half way to even', () => {
    for (const sign of [0, 0x8000]) {
      for (let bits = 0; bits < 0x7bff; bits++) {
        const here = f16ToF32(sign | bits);
        const next = f16ToF32(sign | (bits + 1));
        // The middle of two f16 values is an f32, and so are its neighbours.
        const middle = (here + next) / 2;
        const nudge = (next - here) * 2 ** -10;
        const even = (bits & 1) === 0 ? bits : bits + 1;
        if (
          f32ToF16(middle) !== (sign | even) ||
          f32ToF16(middle - nudge) !== (sign | bits) ||
          f32ToF16(middle + nudge) !== (sign | (bits + 1))
        )
          expect.fail(`around ${here}`);
      }
    }
  });

  it('overflows at 65520 and underflows at 2^-25', () => {
    expect(F16_MAX).toBe(f16ToF32(0x7bff));
    expect(F16_SMALLEST_NORMAL).toBe(f16ToF32(0x0400));
    const below = floatOf(0x477fefff);
    expect(below).toBeLessThan(65520);
    expect([below, 65520, 65536, 3e38, Number.POSITIVE_INFINITY].map(f32ToF16)).toEqual([
      0x7bff, 0x7c00, 0x7c00, 0x7c00, 0x7c00,
    ]);
    expect([-below, -65520, Number.NEGATIVE_INFINITY].map(f32ToF16)).toEqual([
      0xfbff, 0xfc00, 0xfc00,
    ]);
    expect([2 ** -25, 2 ** -25 * (1 + 2 ** -23), 2 ** -149, 0, -0].map(f32ToF16)).toEqual([
      0, 1, 0, 0, 0x8000,
    ]);
  });

  it('agrees on random f32 bit patterns', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 0xffffffff }), (pattern) => {
        const value = floatOf(pattern);
        expect(Object.is(roundToF16(value), f16round(value))).toBe(true);
      }),
      { numRuns: 20_000 },
    );
  });

  it('agrees on random f32 bit patterns inside the range of f16', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0x32800000, max: 0x47ffffff }),
        fc.boolean(),
        (magnitude, negative) => {
          const value = floatOf(magnitude) * (negative ? -1 : 1);
          expect(Object.is(roundToF16(value), f16round(value))).toBe(true);
        },
      ),
      { numRuns: 20_000 },
    );
  });

  it('rounds a number that is not an f32 once', () => {
    // 1 + 2^-11 is half way between two f16 values; 2^-40 more is above it, and would be lost in f32.
    expect(roundToF16(1 + 2 ** -11 + 2 ** -40)).toBe(1 + 2 ** -10);
    expect(roundToF16(1 + 2 ** -10 + 2 ** -11 - 2 ** -40)).toBe(1 + 2 ** -10);
    fc.assert(
      fc.property(fc.double({ min: -70_000, max: 70_000, noNaN: true }), (value) => {
        expect(Object.is(roundToF16(value), f16round(value))).toBe(true);
      }),
      { numRuns: 5_000 },
    );
  });
});
