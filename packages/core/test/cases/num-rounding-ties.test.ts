// num-rounding-ties: values half way between two codes, and formulas that differ by one code.
import { describe, expect, it } from 'vitest';
import { encodeF16, f16ToF32, f32ToF16, roundToF16 } from '../../src/float16.js';
import { quantizeAsymmetric } from '../../src/law/asymmetric.js';
import { unpackCodes } from '../../src/law/bits.js';
import type { PackedTensorPlan } from '../../src/law/encode.js';
import { signedCode } from '../../src/law/symmetric.js';
import type { Quantizer } from '../../src/scheme.js';
import { nearestExactly } from '../law/exact.js';
import { groupScheme, readParameter } from '../law/support.js';
import { loadCase } from '../testing/load-case.js';
import { cacheOf, filled } from './num-support.js';

interface Formulas {
  readonly x: number;
  readonly min: number;
  readonly scale: number;
  readonly subtractThenDivide: number;
  readonly divideThenSubtract: number;
}
const { input, expected } = loadCase<
  {
    asymmetric2bit: { group: number[]; scale: number };
    symmetricMagnitude: { group: number[]; scale: number };
    orderOfOperations: Formulas[];
  },
  { codes: Record<'halfEven' | 'halfAwayFromZero', { asym: number[]; sym: number[] }> }
>('num-rounding-ties');

const SIZE = 16;
const padded = (group: number[]) =>
  Float32Array.from({ length: SIZE }, (_, i) => group[i % group.length]!);

/** Codes that a cache stores for a group along an axis. */
async function storedCodes(
  values: Float32Array,
  bits: 2 | 3,
  quantizer: Quantizer,
  along: 'tokens' | 'channels',
) {
  const [tokens, dim] = along === 'tokens' ? [SIZE, 1] : [1, SIZE];
  const geometry = { layers: 1, queryHeads: 1, kvHeads: 1, keyHeadDim: dim, valueHeadDim: dim };
  const scheme = groupScheme(bits, along, SIZE, quantizer);
  const cache = await cacheOf(scheme, { bits: 16 }, geometry, { tokens });
  const tensor = encodeF16(values);
  const sequence = await filled(cache, tokens, tensor, tensor);
  const [block] = await cache.exportBlocks(sequence, 0, 'key');
  const codes = new Uint8Array(SIZE);
  unpackCodes(block!.bytes, 0, 0, SIZE, bits, codes, 0);
  const plan = cache.plan.layers[0]!.key as PackedTensorPlan;
  return { codes, scale: f16ToF32(readParameter(plan, block!.bytes, 0, 'scale', 0)) };
}

describe.each(['tokens', 'channels'] as const)('ties along %s go to even', (along) => {
  it('asymmetric, 2 bits', async () => {
    const { group, scale } = input.asymmetric2bit;
    const quantizer: Quantizer = { mode: 'asymmetric', codes: 'uniform' };
    const result = await storedCodes(padded(group), 2, quantizer, along);
    const { halfEven, halfAwayFromZero } = expected.codes;
    expect(result.scale).toBe(scale);
    expect([...result.codes.subarray(0, group.length)]).toEqual(halfEven.asym);
    expect(halfEven.asym).not.toEqual(halfAwayFromZero.asym);
  });

  it('sign and magnitude, 3 bits', async () => {
    const { group, scale } = input.symmetricMagnitude;
    const quantizer: Quantizer = { mode: 'symmetric', codes: 'signmag' };
    const result = await storedCodes(padded(group), 3, quantizer, along);
    expect(result.scale).toBe(scale);
    const codes = [...result.codes.subarray(0, group.length)].map((code) => signedCode(code, 3));
    expect(codes).toEqual(expected.codes.halfEven.sym);
  });
});

describe('the formula is: subtract, round to f32, divide, round half to even', () => {
  it.each(input.orderOfOperations)('$x', (row) => {
    // The scales of the case are f32; the law divides by what it stored, so its formula is checked on them directly.
    const difference = Math.fround(row.x - row.min);
    expect(nearestExactly(difference, row.scale)).toBe(row.subtractThenDivide);
    expect(row.subtractThenDivide).not.toBe(row.divideThenSubtract);
  });

  it.each(input.orderOfOperations)(
    'the law follows it from the group of $x',
    ({ x, min, scale }) => {
      const values = Float32Array.of(min, x, Math.fround(min + 15 * scale));
      const codes = new Uint8Array(3);
      const scales = new Uint16Array(1);
      const zeros = new Uint16Array(1);
      quantizeAsymmetric(values, 1, 3, 4, codes, scales, zeros);
      expect(zeros[0]).toBe(f32ToF16(min));
      const stored = f16ToF32(scales[0]!);
      const zero = f16ToF32(zeros[0]!);
      const range = Math.fround(values[2]! - zero);
      expect(stored).toBe(roundToF16(Math.fround(range * Math.fround(1 / 15))));
      // Not every `min` is an f16 number, so its own code need not be 0.
      const exact = [...values].map((value) => nearestExactly(Math.fround(value - zero), stored));
      expect([...codes]).toEqual(exact.map((code) => Math.min(code, 15)));
    },
  );
});
