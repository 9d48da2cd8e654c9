// num-packing-order-all-codes: every code once, with weights that tell positions apart.
import { describe, expect, it } from 'vitest';
import { encodeF16 } from '../../src/float16.js';
import { f32Tensor } from '../../src/index.js';
import { unpackCodes } from '../../src/law/bits.js';
import type { PackedTensorPlan } from '../../src/law/encode.js';
import { groupScheme, readParameter } from '../law/support.js';
import { loadCase } from '../testing/load-case.js';
import { attended, cacheOf, filled } from './num-support.js';

const { input, expected } = loadCase<
  {
    bits: (2 | 3 | 4 | 8)[];
    perBits: Record<string, number[] | string>;
    repeatToGroupSize: number;
  },
  { fourBitDot: number; wrongAnswers: Record<string, number> }
>('num-packing-order-all-codes');

/** The codes of a group: all of them, repeated to its size. */
function codesOf(bits: number): number[] {
  const list = input.perBits[bits]!;
  const all = typeof list === 'string' ? [...Array(256).keys()] : list;
  const size = Math.max(input.repeatToGroupSize, all.length);
  return Array.from({ length: size }, (_, i) => all[i % all.length]!);
}

describe.each(input.bits)('%d bits', (bits) => {
  const codes = codesOf(bits);
  const size = codes.length;
  it.each(['tokens', 'channels'] as const)('come back in order along %s', async (along) => {
    const tokens = along === 'tokens' ? size : 4;
    const dim = along === 'tokens' ? 8 : size;
    const scheme = groupScheme(bits, along, size, { mode: 'asymmetric', codes: 'uniform' });
    const geometry = { layers: 1, queryHeads: 1, kvHeads: 1, keyHeadDim: dim, valueHeadDim: dim };
    const cache = await cacheOf(scheme, { bits: 16 }, geometry, { tokens });
    const values = Float32Array.from(
      { length: tokens * dim },
      (_, i) => codes[along === 'tokens' ? Math.floor(i / dim) : i % dim]!,
    );
    const tensor = encodeF16(values);
    const sequence = await filled(cache, tokens, tensor, tensor);
    expect((await cache.materialize(sequence, 0)).key.data).toEqual(values);
    const [block] = await cache.exportBlocks(sequence, 0, 'key');
    const plan = cache.plan.layers[0]!.key as PackedTensorPlan;
    expect(readParameter(plan, block!.bytes, 0, 'scale', 0)).toBe(0x3c00);
    expect(readParameter(plan, block!.bytes, 0, 'zero', 0)).toBe(0);
    for (let row = 0; row < Math.min(plan.layout.codes.rowCount, 4); row++) {
      const stored = new Uint8Array(size);
      unpackCodes(block!.bytes, row * plan.layout.codes.rowBytes, 0, size, bits, stored, 0);
      expect([...stored]).toEqual(codes);
    }
  });
});

it('the weighted sum of 4-bit codes in a query is the one of the right order', async () => {
  const codes = codesOf(4);
  const dim = codes.length;
  const scheme = groupScheme(4, 'channels', dim, { mode: 'asymmetric', codes: 'uniform' });
  // Logits are q.k itself, so the log-sum-exp over one token is the dot product.
  const geometry = {
    layers: 1,
    queryHeads: 1,
    kvHeads: 1,
    keyHeadDim: dim,
    valueHeadDim: dim,
    scale: 1,
  };
  const cache = await cacheOf(scheme, scheme, geometry, { tokens: 1 });
  const tensor = encodeF16(Float32Array.from(codes));
  const sequence = await filled(cache, 1, tensor, tensor);
  const query = Float32Array.from({ length: dim }, (_, i) => (i < 16 ? i + 1 : 0));
  const { logSumExp } = await cache
    .attend(0, f32Tensor(query, [1, 1, dim]), [sequence], { logSumExp: true })
    .read();
  expect(logSumExp!.data[0]).toBe(expected.fourBitDot);
  expect(Object.values(expected.wrongAnswers)).not.toContain(logSumExp!.data[0]);
  expect([...(await attended(cache, sequence, query))]).toEqual(codes);
});
