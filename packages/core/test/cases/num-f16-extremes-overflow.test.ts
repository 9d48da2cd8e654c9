// num-f16-extremes-overflow: a group that spans the whole range of f16.
import { describe, expect, it } from 'vitest';
import { encodeF16, f16ToF32 } from '../../src/float16.js';
import { groupScheme, readParameter } from '../law/support.js';
import { loadCase } from '../testing/load-case.js';
import { attended, cacheOf, filled } from './num-support.js';

interface PerBits {
  readonly scale_f32: number;
  readonly scale_f16: number;
  readonly largestDequant_in_f32: number;
}
const { input, expected } = loadCase<
  { group: number[]; bits: (2 | 4 | 8)[]; groupSize: number },
  { perBits: Record<string, PerBits> }
>('num-f16-extremes-overflow');
const size = input.groupSize;
const geometry = { layers: 1, queryHeads: 1, kvHeads: 1, keyHeadDim: size, valueHeadDim: size };

describe.each(input.bits)('%d bits', (bits) => {
  const row = expected.perBits[bits]!;
  it.each(['tokens', 'channels'] as const)('stays finite along %s', async (along) => {
    const scheme = groupScheme(bits, along, size, { mode: 'asymmetric', codes: 'uniform' });
    const cache = await cacheOf(scheme, scheme, geometry, { tokens: size });
    // The group runs along channels in every token, or along tokens in every channel.
    const values = Float32Array.from(
      { length: size * size },
      (_, i) => input.group[along === 'channels' ? i % size : Math.floor(i / size)]!,
    );
    const tensor = encodeF16(values);
    const sequence = await filled(cache, size, tensor, tensor);
    const plan = cache.plan.layers[0]!.key;
    const [block] = await cache.exportBlocks(sequence, 0, 'key');
    const scale = f16ToF32(readParameter(plan as never, block!.bytes, 0, 'scale', 0));
    expect(scale).toBe(row.scale_f16);
    const { key } = await cache.materialize(sequence, 0);
    const decoded = key.data as Float32Array;
    for (const [i, value] of values.entries())
      if (!(Math.abs(decoded[i]! - value) <= row.scale_f32 / 2 + 48))
        expect.fail(`${value} came back as ${decoded[i]}`);
    // The top code lies above f16: the decoded value must not pass through f16 on its way.
    expect(Math.max(...decoded)).toBe(row.largestDequant_in_f32);
    const output = await attended(cache, sequence, new Float32Array(size));
    const mean = (channel: number) => {
      let sum = 0;
      for (let token = 0; token < size; token++) sum += decoded[token * size + channel]!;
      return sum / size;
    };
    for (const [channel, result] of output.entries())
      expect(Math.abs(result - mean(channel))).toBeLessThan(0.01);
  });
});
