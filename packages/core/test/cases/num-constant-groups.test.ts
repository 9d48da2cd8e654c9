// num-constant-groups: every value of a group is the same.
import { describe, expect, it } from 'vitest';
import { decodeF16, f32ToF16, isFiniteF16 } from '../../src/float16.js';
import type { Quantizer } from '../../src/scheme.js';
import { groupScheme } from '../law/support.js';
import { loadCase } from '../testing/load-case.js';
import { attended, cacheOf, filled } from './num-support.js';

const { input } = loadCase<
  {
    recipe: { shape: { T: number; D: number }; values: number[] };
    bits: (2 | 3 | 4 | 8)[];
    groupSizes: number[];
  },
  unknown
>('num-constant-groups');
const { T, D } = input.recipe.shape;

const quantizers: [string, Quantizer][] = [
  ['asymmetric', { mode: 'asymmetric', codes: 'uniform' }],
  ['signmag', { mode: 'symmetric', codes: 'signmag' }],
  ['fullSigned', { mode: 'symmetric', codes: 'fullSigned' }],
];
const geometry = { layers: 1, queryHeads: 2, kvHeads: 1, keyHeadDim: D, valueHeadDim: D };

const runs = quantizers.flatMap(([name, quantizer]) =>
  input.bits.flatMap((bits) =>
    input.groupSizes.flatMap((size) =>
      (['tokens', 'channels'] as const).map((along) => ({ name, quantizer, bits, size, along })),
    ),
  ),
);

describe.each(runs)('$name, $bits bits, groups of $size along $along', (run) => {
  it.each(input.recipe.values)('holds %d', async (constant) => {
    const scheme = groupScheme(run.bits, run.along, run.size, run.quantizer);
    const cache = await cacheOf(scheme, scheme, geometry, { tokens: T });
    const tensor = new Uint16Array(T * D).fill(f32ToF16(constant));
    const sequence = await filled(cache, T, tensor, tensor);
    const { key, value } = await cache.materialize(sequence, 0);
    const exact = run.name === 'asymmetric' || constant === 0;
    // A subnormal constant is below what the smallest scale of a symmetric group resolves.
    const slack = Math.abs(constant) < 2 ** -14 ? 2 ** -15 : Math.abs(constant) * 2 ** -10;
    const near = (actual: number) =>
      exact ? actual === constant : Math.abs(actual - constant) <= slack && actual * constant >= 0;
    for (const stored of [...key.data, ...value.data])
      if (!near(stored)) expect.fail(`${constant} came back as ${stored}`);
    expect(key.data.length).toBe(T * D);

    const blocks = await cache.exportBlocks(sequence, 0, 'key');
    expect(blocks.reduce((sum, block) => sum + block.validTokens, 0)).toBe(T);
    for (const plane of cache.plan.layers[0]!.key.layout!.parameters) {
      const bytes = blocks[0]!.bytes.slice(plane.offset, plane.offset + 2 * plane.count);
      const parameters = new Uint16Array(bytes.buffer);
      expect([...parameters].every(isFiniteF16)).toBe(true);
      if (plane.name === 'zero') expect(decodeF16(parameters)[0]! === constant).toBe(true);
    }

    const query = Float32Array.from({ length: 2 * D }, (_, i) => Math.sin(i));
    const output = await attended(cache, sequence, query);
    for (const result of output)
      if (!(Math.abs(result - constant) <= slack + Math.abs(constant) * 2 ** -20))
        expect.fail(`attention over ${constant} gave ${result}`);
    expect(output.length).toBe(2 * D);
  });
});
