// lcg-ih12 tensors: the digests written in the case files, and the operations against their definition.
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { decodeF16, f16ToF32 } from '../../src/float16.js';
import {
  createDraws,
  lcgNormal,
  maxAbsDifference,
  type NormalRecipe,
} from '../../src/testing/index.js';
import { caseIds, loadCase, readCaseText } from './load-case.js';

type Recipe = NormalRecipe<'f16'>;

function sha256(tensor: Uint16Array): string {
  const bytes = new DataView(new ArrayBuffer(tensor.length * 2));
  for (const [i, bits] of tensor.entries()) bytes.setUint16(i * 2, bits, true);
  return createHash('sha256').update(bytes).digest('hex');
}

function casesWithDigests(): { name: string; recipe: Recipe; digest: string }[] {
  const found: { name: string; recipe: Recipe; digest: string }[] = [];
  for (const id of ['num-key-channel-outliers', 'cache-split-count-invariance']) {
    const { input } = loadCase<
      Record<'K' | 'V' | 'q', Recipe> & { sha256: Record<'K' | 'V' | 'q', string> },
      unknown
    >(id);
    for (const tensor of ['K', 'V', 'q'] as const) {
      found.push({ name: `${id} ${tensor}`, recipe: input[tensor], digest: input.sha256[tensor] });
    }
  }
  const accounting = loadCase<{ data: Recipe; sha256: string }, unknown>(
    'cache-residual-accounting',
  ).input;
  found.push({
    name: 'cache-residual-accounting',
    recipe: accounting.data,
    digest: accounting.sha256,
  });
  const poisoned = loadCase<{ recipe: Recipe }, { sha256OfCleanInput: string }>(
    'num-nan-inf-containment',
  );
  found.push({
    name: 'num-nan-inf-containment',
    recipe: poisoned.input.recipe,
    digest: poisoned.expected.sha256OfCleanInput,
  });
  return found;
}

describe('lcgNormal', () => {
  it.each(casesWithDigests())('makes the bytes of $name', ({ recipe, digest }) => {
    expect(sha256(lcgNormal(recipe))).toBe(digest);
  });

  it('is checked against every digest in the case files', () => {
    const written = caseIds().flatMap((id) => readCaseText(id).match(/\b[0-9a-f]{64}\b/g) ?? []);
    expect(written.length).toBeGreaterThan(0);
    expect(
      casesWithDigests()
        .map(({ digest }) => digest)
        .sort(),
    ).toEqual(written.sort());
  });

  it('has mean 0 and variance 1, moved and scaled by mean and std', () => {
    const values = lcgNormal({ seed: 3, shape: [50000], dtype: 'f32', std: 0.5, mean: 3 });
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
    expect(mean).toBeCloseTo(3, 1.9);
    expect(variance).toBeCloseTo(0.25, 1.9);
  });

  it('applies channel operations, then token operations, on the last two axes, before rounding', () => {
    const shape = [2, 3, 4];
    const plain = { seed: 9, shape, dtype: 'f16' as const };
    const changed = lcgNormal({
      ...plain,
      channelOps: [
        { channel: 1, mul: 2, add: 64 },
        { channel: 1, mul: 1, add: 0.5 },
      ],
      tokenOps: [{ token: 2, mul: -3, add: 32 }],
    });
    const draw = createDraws(plain.seed);
    for (let i = 0; i < 24; i++) {
      const channel = i % 4;
      const token = Math.floor(i / 4) % 3;
      let value = -6;
      for (let n = 0; n < 12; n++) value += draw() / 4096;
      if (channel === 1) value = value * 2 + 64.5;
      if (token === 2) value = value * -3 + 32;
      const spacing = 2 ** (Math.floor(Math.log2(Math.abs(value))) - 10);
      const difference = Math.abs(f16ToF32(changed[i] ?? 0) - value);
      expect(difference).toBeLessThanOrEqual(spacing / 2);
    }
  });

  it('changes only token 0 in the sink case, by its stated offset', () => {
    const { data } = loadCase<{ data: Recipe }, unknown>(
      'cache-prefill-keeps-window-and-sink',
    ).input;
    const { tokenOps: _, ...withoutOps } = data;
    const changed = lcgNormal(data);
    const plain = lcgNormal(withoutOps);
    const rowLength = 64;
    const rows = plain.length / rowLength;
    for (let row = 0; row < rows; row++) {
      const before = plain.subarray(row * rowLength, (row + 1) * rowLength);
      const after = changed.subarray(row * rowLength, (row + 1) * rowLength);
      if (row % 1400 !== 0) {
        if (after.some((bits, i) => bits !== before[i])) expect.fail(`row ${row} changed`);
        continue;
      }
      const moved = decodeF16(before).map((value) => value + 32);
      expect(maxAbsDifference(decodeF16(after), moved)).toBeLessThanOrEqual(2 ** -6 + 2 ** -10);
    }
  });

  it('returns an empty array for a shape with a 0 and refuses indices outside the shape', () => {
    expect(lcgNormal({ seed: 1, shape: [1, 2, 0, 8], dtype: 'f16' })).toHaveLength(0);
    const refused = expect.objectContaining({ code: 'OPTION_INVALID' });
    const recipe = { seed: 1, shape: [2, 3, 4], dtype: 'f16' as const };
    expect(() => lcgNormal({ ...recipe, channelOps: [{ channel: 4, mul: 1, add: 1 }] })).toThrow(
      refused,
    );
    expect(() => lcgNormal({ ...recipe, tokenOps: [{ token: 3, mul: 1, add: 1 }] })).toThrow(
      refused,
    );
    expect(() => lcgNormal({ ...recipe, shape: [2, -1] })).toThrow(refused);
  });
});
