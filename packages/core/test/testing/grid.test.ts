// lcg-grid tensors: the draws behind the codes, the two forced codes of each group, and values on the grid.
import { describe, expect, it } from 'vitest';
import { f16ToF32 } from '../../src/float16.js';
import { createDraws, lcgGrid } from '../../src/testing/index.js';

describe('lcgGrid', () => {
  it('takes codes from the draws in row-major order and forces two codes per group of channels', () => {
    const { codes } = lcgGrid({
      seed: 21,
      shape: [2, 3, 6],
      dtype: 'f16',
      levels: 16,
      groupSize: 4,
      groupAxis: 2,
      lo: -1,
      step: 0.25,
    });
    const draw = createDraws(21);
    const drawn = Array.from({ length: 36 }, () => draw() % 16);
    for (let row = 0; row < 6; row++) {
      const at = row * 6;
      // Groups are channels 0..3 and the short 4..5.
      expect([...codes.subarray(at, at + 6)]).toEqual([0, 15, drawn[at + 2], drawn[at + 3], 0, 15]);
    }
  });

  it('forces whole rows when groups run along tokens', () => {
    const dim = 8;
    const { codes } = lcgGrid({
      seed: 4,
      shape: [1, 2, 5, dim],
      dtype: 'f16',
      levels: 4,
      groupSize: 4,
      groupAxis: 2,
      lo: 0,
      step: 1,
    });
    for (let head = 0; head < 2; head++) {
      for (let token = 0; token < 5; token++) {
        const row = codes.subarray((head * 5 + token) * dim, (head * 5 + token + 1) * dim);
        if (token === 0 || token === 4) expect(new Set(row)).toEqual(new Set([0]));
        else if (token === 1) expect(new Set(row)).toEqual(new Set([3]));
        else expect(new Set(row).size).toBeGreaterThan(1);
      }
    }
  });

  it.each(['f16', 'f32'] as const)('puts every value on the grid in %s', (dtype) => {
    const { codes, values } = lcgGrid({
      seed: 8,
      shape: [4, 32],
      dtype,
      levels: 8,
      groupSize: 32,
      groupAxis: 1,
      lo: -1.75,
      step: 0.5,
    });
    codes.forEach((code, i) => {
      const value = values[i] ?? 0;
      expect(dtype === 'f16' ? f16ToF32(value) : value).toBe(-1.75 + 0.5 * code);
    });
    expect(new Set(codes).size).toBe(8);
  });

  it('refuses groups and axes that make no sense', () => {
    const recipe = {
      seed: 1,
      shape: [4, 4],
      dtype: 'f16',
      levels: 4,
      groupSize: 4,
      groupAxis: 1,
      lo: 0,
      step: 1,
    } as const;
    const refused = expect.objectContaining({ code: 'OPTION_INVALID' });
    expect(() => lcgGrid({ ...recipe, groupAxis: 2 })).toThrow(refused);
    expect(() => lcgGrid({ ...recipe, groupSize: 1 })).toThrow(refused);
    expect(() => lcgGrid({ ...recipe, levels: 1 })).toThrow(refused);
  });
});
