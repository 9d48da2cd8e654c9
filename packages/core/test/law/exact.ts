/**
 * Exact rational arithmetic for the tests of the law, and the groups they run on.
 */
import fc from 'fast-check';
import { decodeF16 } from '../../src/float16.js';

const view = new DataView(new ArrayBuffer(8));

/** A double as an integer times 2^-1074: exact. */
function exactly(value: number): bigint {
  view.setFloat64(0, value);
  const bits = view.getBigUint64(0);
  const exponent = (bits >> 52n) & 0x7ffn;
  const fraction = bits & 0xfffffffffffffn;
  const magnitude = exponent === 0n ? fraction : (fraction | 0x10000000000000n) << (exponent - 1n);
  return value < 0 ? -magnitude : magnitude;
}

/** The integer nearest to dividend / divisor, ties to even, computed on integers. */
export function nearestExactly(dividend: number, divisor: number): number {
  let numerator = exactly(dividend);
  let denominator = exactly(divisor);
  if (denominator < 0n) {
    numerator = -numerator;
    denominator = -denominator;
  }
  const negative = numerator < 0n;
  if (negative) numerator = -numerator;
  let quotient = numerator / denominator;
  const twice = 2n * (numerator % denominator);
  if (twice > denominator || (twice === denominator && (quotient & 1n) === 1n)) quotient += 1n;
  // No result of -0.
  return negative && quotient > 0n ? -Number(quotient) : Number(quotient);
}

const finiteBits = fc
  .integer({ min: 0, max: 0xffff })
  .map((bits) => ((bits & 0x7c00) === 0x7c00 ? bits & 0x83ff : bits));
/** Values that share an exponent range, so that codes spread and ties occur. */
const clustered = fc
  .tuple(
    fc.integer({ min: 0, max: 29 }),
    fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 1, maxLength: 40 }),
  )
  .map(([exponent, list]) =>
    list.map((bits) => (bits & 0x83ff) | (Math.min(exponent + ((bits >> 10) & 1), 30) << 10)),
  );
/** Small integers over a power of two: many exact ties. */
const gridBits = fc
  .tuple(
    fc.integer({ min: -14, max: 8 }),
    fc.array(fc.integer({ min: -32, max: 32 }), { minLength: 1, maxLength: 40 }),
  )
  .map(([power, list]) => Float32Array.from(list, (n) => n * 2 ** power));

/** A group of 1 to 40 finite f16 values, as f32: any pattern, one magnitude, or small integers with exact ties. */
export const finiteGroup: fc.Arbitrary<Float32Array> = fc.oneof(
  fc
    .array(finiteBits, { minLength: 1, maxLength: 40 })
    .map((bits) => decodeF16(Uint16Array.from(bits))),
  clustered.map((bits) => decodeF16(Uint16Array.from(bits))),
  gridBits,
);
