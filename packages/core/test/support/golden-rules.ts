/**
 * How far the normative quantizers may be from computations in f16: the tie rule for codes, one f16 step for scales.
 */
import { f16ToF32 } from '../../src/index.js';
import { quantizeAsymmetric } from '../../src/law/asymmetric.js';
import { quantizeSymmetric, signedCode } from '../../src/law/symmetric.js';

/** f16 roundings that separate the normative code from the original's, by mode. */
export const ASYMMETRIC_ROUNDINGS = 5;
export const SYMMETRIC_ROUNDINGS = 1;

/** How far codes of the same quotient t, in units of a step, may be apart. */
export function allowedCodeDifference(quotient: number, roundings: number): 0 | 1 {
  const t = Math.abs(quotient);
  return Math.abs(t - Math.floor(t) - 0.5) <= t * roundings * 2 ** -11 ? 1 : 0;
}

/** How many f16 numbers apart two positive normal ones are. */
export function f16Steps(a: number, b: number): number {
  return Math.abs(a - b) / 2 ** (Math.floor(Math.log2(Math.min(a, b))) - 10);
}

/** One group by the law, sections 3 and 4 (`signmag`). Codes are signed numbers in a symmetric group. */
export function normativeAsymmetric(values: Float32Array, bits: number) {
  const codes = new Uint8Array(values.length);
  const [scales, zeros] = [new Uint16Array(1), new Uint16Array(1)];
  quantizeAsymmetric(values, 1, values.length, bits, codes, scales, zeros);
  return { codes, scale: f16ToF32(scales[0] as number), zero: f16ToF32(zeros[0] as number) };
}

export function normativeSymmetric(values: Float32Array, bits: number) {
  const codes = new Uint8Array(values.length);
  const scales = new Uint16Array(1);
  quantizeSymmetric(values, 1, values.length, bits, 'signmag', codes, scales);
  return {
    codes: Int8Array.from(codes, (code) => signedCode(code, bits)),
    scale: f16ToF32(scales[0] as number),
  };
}
