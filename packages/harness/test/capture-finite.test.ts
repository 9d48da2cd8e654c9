/** Captures with NaN, infinities and values outside f16: found, and named by their place. */

import { f32ToF16 } from '@lowbit-kv/core';
import { describe, expect, it } from 'vitest';
import { openCapture } from '../src/index.js';
import { captureBytes, f16Tensor } from './support/capture-bytes.js';
import { refusal } from './support/failures.js';

describe('values that are not finite', () => {
  // Head 1, token 3, channel 2 of [1, 2, 5, dim]; query head 3, row 1 of 3, channel 4.
  const cachedPlace = (dim: number) => (1 * 5 + 3) * dim + 2;
  const queryPlace = (3 * 3 + 1) * 8 + 4;

  it.each<[tensor: string, place: number, head: number, token: number, channel: number]>([
    ['key', cachedPlace(8), 1, 3, 2],
    ['value', cachedPlace(6), 1, 3, 2],
    ['query', queryPlace, 3, 3, 4],
    ['key_pre_rope', cachedPlace(8), 1, 3, 2],
  ])('are found in %s', async (part, place, head, token, channel) => {
    const tensor = `layers.11.${part}`;
    for (const [poison, value] of [
      [0x7e00, Number.NaN],
      [0x7c00, Infinity],
      [0xfc00, -Infinity],
    ] as const) {
      const capture = await openCapture(
        captureBytes(({ tensors }) => {
          if (part === 'key_pre_rope') {
            for (const n of [3, 11]) tensors[`layers.${n}.${part}`] = f16Tensor([1, 2, 5, 8]);
          }
          (tensors[tensor]?.data as Uint16Array)[place] = poison;
        }),
      );
      await capture.readLayer(3);
      const error = await refusal(capture.readLayer(11), 'NON_FINITE');
      expect(error.where).toEqual({
        file: '(bytes in memory)',
        tensor,
        layer: 11,
        head,
        token,
        channel,
      });
      expect(error.value).toBe(value);
    }
  });

  it('count from before and after rounding to f16', async () => {
    const poisoned = (value: number) =>
      captureBytes(({ tensors }) => {
        const data = new Float32Array(80);
        data[cachedPlace(8)] = value;
        tensors['layers.3.key'] = { dtype: 'F32', shape: [1, 2, 5, 8], data };
      });
    const fits = await (await openCapture(poisoned(65519))).readLayer(3);
    expect(fits.key[cachedPlace(8)]).toBe(f32ToF16(65504));
    const large = await refusal((await openCapture(poisoned(65520))).readLayer(3), 'NON_FINITE');
    expect(large.message).toMatch(/outside the range of f16/);
    expect(large.value).toBe(65520);
    const nan = await refusal((await openCapture(poisoned(Number.NaN))).readLayer(3), 'NON_FINITE');
    expect(nan.message).toMatch(/not finite/);
    expect(nan.where).toMatchObject({ head: 1, token: 3, channel: 2 });
  });
});
