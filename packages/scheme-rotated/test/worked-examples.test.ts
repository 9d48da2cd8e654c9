// Vectors rotated and quantized by hand: codes, parameters and what comes back, for keys and values.
import { encodeF16, type Scheme } from '@lowbit-kv/core';
import { describe, expect, test } from 'vitest';
import { DrivenCache } from '../../core/test/support/driven-cache.js';
import { rotated, rotated2, rotated4, rotated4Symmetric } from '../src/index.js';

/**
 * Packs one token whose first four of 64 channels are `x`. H of 64 channels is then the four-channel butterfly of x,
 * sixteen times over, times 1/8; so the way back is the butterfly of four decoded values, times 2.
 */
async function pack(scheme: Scheme, x: readonly number[], tensor: 'key' | 'value') {
  const data = new Float32Array(64);
  data.set(x);
  const cache = await DrivenCache.open(scheme, {
    tokens: 1,
    headDim: 64,
    [tensor]: encodeF16(data),
  });
  await cache.append(1);
  const layout = cache.plan.layers[0]![tensor].layout!;
  const { bytes } = (await cache.blocks(tensor))[0]!;
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const { offset } = layout.codes;
  return {
    codes: [...bytes.subarray(offset, offset + (64 * layout.codes.rowBytes) / 64)],
    parameters: layout.parameters.map(({ offset: at }) => [
      view.getUint16(at, true),
      view.getUint16(at + 2, true),
    ]),
    decoded: [...(await cache.materialize())[tensor]].map((value) => value + 0),
  };
}

const repeat = (bytes: readonly number[], times: number) =>
  Array.from({ length: times }, () => bytes).flat();
const channels = (x: readonly number[]) => Array.from({ length: 64 }, (_, i) => x[i] ?? 0);

describe.each(['key', 'value'] as const)('%s', (tensor) => {
  test('4 bits, asymmetric', async () => {
    // Strides 1 and 2: (-3, 44, -21, 51.5)... give (-24, 96, 18, -8) and, over 8, (-3, 12, 2.25, -1).
    const packed = await pack(rotated4, [20.5, -23.5, 15.5, -36.5], tensor);
    // Minimum -3, scale 15 / 15 = 1: codes 0, 15, 5.25 to 5, 2.
    expect(packed.codes).toEqual(repeat([0xf0, 0x25], 16));
    expect(packed.parameters).toEqual([
      [0x3c00, 0x3c00],
      [0xc200, 0xc200],
    ]);
    // Decoded (-3, 12, 2, -1): strides give (9, -15, 1, 3) and (10, -12, 8, -18), times 2.
    expect(packed.decoded).toEqual(channels([20, -24, 16, -36]));
  });

  test('4 bits, symmetric: the largest magnitude is on code -8', async () => {
    // Rotated: (-3.5, 16, 2.25, -1.25). Scale -16 / 8 = -2: codes 2, -8, -1, 1.
    const packed = await pack(rotated4Symmetric, [27, -32, 23, -46], tensor);
    expect(packed.codes).toEqual(repeat([0x82, 0x1f], 16));
    expect(packed.parameters).toEqual([[0xc000, 0xc000]]);
    // Decoded (-4, 16, 2, -2): strides give (12, -20, 0, 4) and (12, -16, 12, -24), times 2.
    expect(packed.decoded).toEqual(channels([24, -32, 24, -48]));
  });

  test('2 bits, asymmetric', async () => {
    // Rotated: (-3, 12, 2.25, -1). Scale 5: codes 0, 3, 1.05 to 1, 0.4 to 0; decoded (-3, 12, 2, -3).
    const packed = await pack(rotated2, [20.5, -23.5, 15.5, -36.5], tensor);
    expect(packed.codes).toEqual(repeat([0x1c], 16));
    // Strides give (9, -15, -1, 5) and (8, -10, 10, -20), times 2.
    expect(packed.decoded).toEqual(channels([16, -20, 20, -40]));
  });
});

test('centered: a constant in the channels is gone before the rotation and comes back', async () => {
  const scheme = rotated({ bits: 2, centered: 'keys-and-values', statisticsTokens: 4 });
  const constant = Float32Array.from({ length: 8 * 64 }, (_, i) => ((i % 64) - 20) / 4);
  const bits = encodeF16(constant);
  const cache = await DrivenCache.open(scheme, { tokens: 8, headDim: 64, key: bits, value: bits });
  await cache.append(3);
  expect((await cache.windows()).key).toEqual({ packed: 0, tail: 3, sinks: 0 });
  await cache.append(5);
  expect((await cache.windows()).key).toEqual({ packed: 8, tail: 0, sinks: 0 });
  const decoded = await cache.materialize();
  expect(decoded.key).toEqual(constant);
  expect(decoded.value).toEqual(constant);
});
