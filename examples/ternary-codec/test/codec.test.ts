// The law of the codec: worked bytes, which values count, and how close the result is.
import { f16ToF32 } from '@lowbit-kv/core';
import { lcgNormal, relativeError } from '@lowbit-kv/core/testing';
import { describe, expect, test } from 'vitest';
import { LARGEST_GROUP, ternaryCodec, ternaryGroupBytes } from '../src/index.js';
import { sampleGroups } from './support.js';

function roundTrip(values: Float32Array) {
  const codec = ternaryCodec(values.length);
  const bytes = new Uint8Array(codec.groupBytes);
  codec.encodeGroup(values, bytes);
  const decoded = new Float32Array(values.length);
  codec.decodeGroup(bytes, decoded);
  return { bytes, decoded, scale: f16ToF32((bytes[0] as number) | ((bytes[1] as number) << 8)) };
}

test('worked bytes: seven values in two bytes behind the scale', () => {
  // The mean magnitude is 0.8, so values above 0.56 count; their mean is 1.25.
  const { bytes, decoded } = roundTrip(Float32Array.of(1, -1.5, 0.25, 0, 1, 0.35, -1.5));
  expect(0x3d00).toBe(0b0_01111_0100000000);
  // Digits 2 0 1 1 2 and 1 0: 2 + 0 + 9 + 27 + 162, and 1 + 0.
  expect([...bytes]).toEqual([0x00, 0x3d, 200, 1]);
  expect([...decoded]).toEqual([1.25, -1.25, 0, 0, 1.25, 0, -1.25]);
});

test('sizes: five values to a byte', () => {
  expect([32, 40, 64, 80, 160].map(ternaryGroupBytes)).toEqual([9, 10, 15, 18, 34]);
  for (const size of [40, 80, 160]) expect(ternaryGroupBytes(size) * 8).toBe(1.6 * size + 16);
});

test('every byte of digits is below 243, and every combination of five comes back', () => {
  const seen = new Set<number>();
  for (let code = 0; code < 243; code++) {
    const digits = [0, 1, 2, 3, 4].map((i) => (Math.floor(code / 3 ** i) % 3) - 1);
    // A sixth value keeps the group from being all zeros.
    const { bytes, decoded } = roundTrip(Float32Array.of(...digits, 1));
    seen.add(bytes[2] as number);
    expect([...decoded.subarray(0, 5)].map((value) => value + 0)).toEqual(digits.map((d) => d + 0));
  }
  expect(seen.size).toBe(243);
});

describe.each([8, 40, 64, 80, LARGEST_GROUP])('groups of %i', (size) => {
  test('levels are -s, 0 and s, s as f16 is normal, and signs are kept', () => {
    for (const values of sampleGroups(size)) {
      const { decoded, scale } = roundTrip(values);
      expect(scale === 0 || (scale >= 2 ** -14 && scale <= 65504)).toBe(true);
      for (const [i, value] of decoded.entries()) {
        expect([-scale + 0, 0, scale]).toContain(value);
        if (value !== 0) expect(Math.sign(value)).toBe(Math.sign(values[i] as number));
      }
    }
  });

  test('agrees with the formula in real arithmetic', () => {
    let compared = 0;
    for (let seed = 0; seed < 50; seed++) {
      const values = lcgNormal({ seed, shape: [size], dtype: 'f32' });
      const magnitudes = [...values].map(Math.abs);
      const sum = magnitudes.reduce((total, value) => total + value, 0);
      const threshold = (0.7 * sum) / size;
      // Magnitudes are cut to 16 bits: whoever is that close to the threshold may fall on either side.
      if (magnitudes.some((value) => Math.abs(value / threshold - 1) < 1e-3)) continue;
      const members = magnitudes.filter((value) => value > threshold);
      const mean = members.reduce((total, value) => total + value, 0) / members.length;
      const { decoded, scale } = roundTrip(values);
      expect(Math.abs(scale / mean - 1)).toBeLessThan(2 ** -10);
      expect([...decoded].map((value) => value !== 0)).toEqual(
        magnitudes.map((value) => value > threshold),
      );
      compared++;
    }
    expect(compared).toBeGreaterThan(20);
  });

  test('is closer to normal data than signs alone', () => {
    const values = lcgNormal({ seed: 3, shape: [size], dtype: 'f32' });
    const { decoded } = roundTrip(values);
    const mean = values.reduce((sum, value) => sum + Math.abs(value), 0) / size;
    const signs = values.map((value) => Math.sign(value) * mean);
    expect(relativeError(decoded, values)).toBeLessThan(relativeError(signs, values));
  });
});
