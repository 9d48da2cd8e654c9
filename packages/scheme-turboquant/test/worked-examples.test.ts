// A vector of four channels rotated and quantized by hand: codes, scale and what comes back, for keys and values.
import { encodeF16 } from '@lowbit-kv/core';
import { describe, expect, test } from 'vitest';
import { DrivenCache } from '../../core/test/support/driven-cache.js';
import { turboquant } from '../src/index.js';

// Seed 0 begins with these signs.
const SIGNS = [1, -1, 1, 1];
// H (5, -3, 1, -1): strides 1 then 2 give (2, 8, 0, 2) and (2, 10, 2, 6); times 1/2 is (1, 5, 1, 3).
const TOKEN = [5, 3, 1, -1];
// Its squares add up to 36: root mean square 3, and in units of it (1/3, 5/3, 1/3, 1).
const SCALE_BITS = 0x4200;

describe.each(['key', 'value'] as const)('%s', (tensor) => {
  // 2 bits: middles 0 and +-0.98; 3 bits: 0.50, 1.05, 1.75; 4 bits: 0.26, 0.52, 0.80, 1.10, 1.44, 1.84.
  test.each([
    [2, [2, 3, 2, 3], [0.4528, 1.5104, 0.4528, 1.5104]],
    [3, [4, 6, 4, 5], [0.2451, 1.344, 0.2451, 0.7561]],
    [4, [9, 13, 9, 11], [0.3878, 1.6176, 0.3878, 0.9419]],
  ] as const)('%i bits', async (bits, codes, levels) => {
    const cache = await DrivenCache.open(turboquant({ bits }), {
      tokens: 1,
      headDim: 4,
      [tensor]: encodeF16(Float32Array.from(TOKEN)),
    });
    await cache.append(1);
    const layout = cache.plan.layers[0]![tensor].layout!;
    const [block] = await cache.blocks(tensor);
    const { bytes } = block!;
    let word = bytes[layout.codes.offset]! | (bytes[layout.codes.offset + 1]! << 8);
    const stored = codes.map(() => {
      const code = word & (2 ** bits - 1);
      word >>= bits;
      return code;
    });
    expect(stored).toEqual(codes);
    expect(layout.parameters.map(({ name }) => name)).toEqual(['scale']);
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    expect(view.getUint16(layout.parameters[0]!.offset, true)).toBe(SCALE_BITS);

    // Back: 3 times the levels, H once more, and the signs.
    const [a, b, c, d] = levels.map((level) => 3 * level) as [number, number, number, number];
    const expected = [a + b + c + d, a - b + c - d, a + b - c - d, a - b - c + d].map((x) => x / 2);
    const decoded = (await cache.materialize())[tensor];
    for (const [i, value] of expected.entries())
      expect(decoded[i]).toBeCloseTo(SIGNS[i]! * value, 5);
  });

  test('a vector of zeros is exact', async () => {
    const cache = await DrivenCache.open(turboquant({ bits: 2 }), {
      tokens: 1,
      headDim: 4,
      [tensor]: new Uint16Array(4),
    });
    await cache.append(1);
    expect([...(await cache.materialize())[tensor]].map((x) => x + 0)).toEqual([0, 0, 0, 0]);
  });
});
