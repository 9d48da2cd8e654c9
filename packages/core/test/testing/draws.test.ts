// The draws against unlimited integers, and the single rounding against the definition of nearest.
import { describe, expect, it } from 'vitest';
import { f16ToF32 } from '../../src/float16.js';
import { createDraws, roundOnceToF16 } from '../../src/testing/index.js';

describe('createDraws', () => {
  it.each([0, 7, 11, 0x7fffffff, 0xffffffff])('follows the recurrence from seed %i', (seed) => {
    const draw = createDraws(seed);
    let state = BigInt(seed);
    for (let n = 0; n < 2000; n++) {
      state = (1664525n * state + 1013904223n) % 2n ** 32n;
      if (draw() !== Number(state >> 20n)) expect.fail(`draw ${n} differs`);
    }
  });

  it('refuses a seed that is not a 32-bit unsigned integer', () => {
    for (const seed of [-1, 2 ** 32, 0.5, Number.NaN]) {
      expect(() => createDraws(seed)).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }));
    }
  });
});

describe('roundOnceToF16', () => {
  it('rounds once where f32 in between would lose the side of a tie', () => {
    const justAboveTie = 1 + 2 ** -11 + 2 ** -30;
    const justBelowTie = 1 + 3 * 2 ** -11 - 2 ** -30;
    expect(f16ToF32(roundOnceToF16(justAboveTie))).toBe(1 + 2 ** -10);
    expect(f16ToF32(roundOnceToF16(-justAboveTie))).toBe(-1 - 2 ** -10);
    expect(f16ToF32(roundOnceToF16(justBelowTie))).toBe(1 + 2 ** -10);
    expect(f16ToF32(roundOnceToF16(2 ** -25 + 2 ** -60))).toBe(2 ** -24);
  });

  it('sends exact ties to even and handles the ends of the range', () => {
    expect(f16ToF32(roundOnceToF16(1 + 2 ** -11))).toBe(1);
    expect(f16ToF32(roundOnceToF16(1 + 3 * 2 ** -11))).toBe(1 + 2 ** -9);
    expect(f16ToF32(roundOnceToF16(65519.999999999))).toBe(65504);
    expect(f16ToF32(roundOnceToF16(65520))).toBe(Number.POSITIVE_INFINITY);
    expect(f16ToF32(roundOnceToF16(1e300))).toBe(Number.POSITIVE_INFINITY);
    expect(roundOnceToF16(1e-300)).toBe(0x0000);
    expect(roundOnceToF16(-1e-300)).toBe(0x8000);
    expect(f16ToF32(roundOnceToF16(Number.NaN))).toBeNaN();
  });

  it('is never further away than a neighbouring f16', () => {
    const draw = createDraws(5);
    let checked = 0;
    for (let n = 0; n < 20000; n++) {
      const value =
        (1 + draw() / 4096 + draw() / 2 ** 24 + draw() / 2 ** 36) *
        2 ** ((draw() % 40) - 25) *
        0.999;
      const bits = roundOnceToF16(value);
      if (bits >= 0x7c00) continue;
      const error = Math.abs(value - f16ToF32(bits));
      for (const neighbour of bits === 0 ? [1] : [bits - 1, bits + 1]) {
        if (Math.abs(value - f16ToF32(neighbour)) < error) expect.fail(`${value} became ${bits}`);
      }
      checked++;
    }
    expect(checked).toBeGreaterThan(15000);
  });
});
