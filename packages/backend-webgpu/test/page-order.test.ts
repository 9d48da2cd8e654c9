// Pages between the order of the reduction and canonical bytes.
import { createPlan, type LayerPlan } from '@lowbit-kv/core';
import { asymmetric, createDraws, inlineScheme, symmetric } from '@lowbit-kv/core/testing';
import { expect, it } from 'vitest';
import { codeOrder } from '../src/shaders/code-order.js';
import { toCanonical, toReduction } from '../src/store/page-order.js';

const geometry = { layers: 1, queryHeads: 2, kvHeads: 2, keyHeadDim: 128, valueHeadDim: 128 };

it.each([2, 3, 4, 8] as const)('codes of %i bits come back', (bits) => {
  for (const parts of [
    { key: symmetric(bits, 'full', 'channels', 32), value: symmetric(bits, 'full', 'tokens', 32) },
    { key: asymmetric(bits, 'tokens', 64), value: asymmetric(bits, 'channels', 128) },
  ]) {
    const [layer] = createPlan(inlineScheme(parts), geometry).layers as [LayerPlan];
    expect(codeOrder(layer)).toBe('reduction');
    for (const plan of [layer.key, layer.value]) {
      const draw = createDraws(bits);
      const page = Uint8Array.from({ length: plan.layout?.pageBytes ?? 0 }, () => draw() & 0xff);
      const moved = page.slice();
      toReduction(plan, moved);
      expect(moved).not.toEqual(page);
      toCanonical(plan, moved);
      expect(moved).toEqual(page);
    }
  }
});

it('spreads every fourth word of 3-bit codes over the three before it', () => {
  const parts = {
    key: asymmetric(3, 'tokens', 32),
    value: asymmetric(3, 'channels', 32),
  };
  const [{ value: plan }] = createPlan(inlineScheme(parts), geometry).layers as [LayerPlan];
  const rowBytes = plan.layout?.codes.rowBytes ?? 0;
  /** Bytes of the codes of the first head that differ from zero when one code is 7. */
  const found = (token: number, channel: number) => {
    const page = new Uint8Array(plan.layout?.pageBytes ?? 0);
    const bit = 8 * rowBytes * token + 3 * channel;
    const bits = 7 << (bit & 7);
    page[bit >> 3] = bits & 0xff;
    page[(bit >> 3) + 1] = bits >> 8;
    toReduction(plan, page);
    return Object.fromEntries([...page.entries()].filter(([, byte]) => byte !== 0));
  };
  // A run of vectors is 512 bytes, a lane has 16 of them, a word 4.
  expect(found(2, 0)).toEqual({ 2: 0b111 });
  expect(found(2, 1)).toEqual({ 2: 0b111000 });
  expect(found(5, 7)).toEqual({ [512 + 16 + 4 + 1]: 0b111000 });
  expect(found(16, 4)).toEqual({ [16 + 8]: 0b111 });
  expect(found(13, 0)).toEqual({ 1: 0b11000000, [512 + 1]: 0b01000000 });
  expect(found(13, 1)).toEqual({ [512 + 1]: 0b10000000, [1024 + 1]: 0b11000000 });
  expect(found(47, 2)).toEqual({ [3 * 512 + 4 + 3]: 0b11000000, [4 * 512 + 4 + 3]: 0b01000000 });
});
