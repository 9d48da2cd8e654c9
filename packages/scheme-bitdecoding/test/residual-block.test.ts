// Nr = Pn * Wn * R: the authors' values, other tiles, and widths that fill no word.
import { expect, test } from 'vitest';
import { presets, residualBlockTokens } from '../src/index.js';

test('128 tokens at 4 bits, 256 at 2', () => {
  expect(residualBlockTokens(4)).toBe(128);
  expect(residualBlockTokens(2)).toBe(256);
});

test('every factor counts', () => {
  expect(residualBlockTokens(4, { wordBits: 32 })).toBe(256);
  expect(residualBlockTokens(4, { warps: 1 })).toBe(32);
  expect(residualBlockTokens(2, { instructionTokens: 16, warps: 2 })).toBe(256);
  expect(residualBlockTokens(8)).toBe(64);
});

test('presets pack both tensors by it', () => {
  for (const { key, value } of presets) {
    if (key.bits === 16 || value.bits === 16) throw new Error('a preset that packs nothing');
    const window = { recent: 0, flush: key.bits === 4 ? 128 : 256 };
    expect([key.window, value.window]).toEqual([window, window]);
  }
});

test.each([[3], [0], [2.5], [32], [Number.NaN]])('codes of %d bits are refused', (bits) => {
  expect(() => residualBlockTokens(bits)).toThrow(
    expect.objectContaining({
      code: 'OPTION_INVALID',
      message: expect.stringContaining('divides 16'),
    }),
  );
});

test.each([
  [{ warps: 0 }, 'warps'],
  [{ instructionTokens: 1.5 }, 'instructionTokens'],
  [{ wordBits: 8 }, 'wordBits'],
  [{ tile: 8 }, 'tile'],
])('%j is refused', (options, field) => {
  expect(() => residualBlockTokens(4, options as never)).toThrow(
    expect.objectContaining({ code: 'OPTION_INVALID', message: expect.stringContaining(field) }),
  );
});
