/**
 * Symmetric group quantizers, docs/law.md 4. Codes are two's complement in `bits` bits, parameters one scale.
 *
 * signmag: s = max|x| / (2^(b-1) - 1), codes -(2^(b-1)-1) .. 2^(b-1)-1.
 * full: s = max|x| / 2^(b-1), codes -2^(b-1) .. 2^(b-1)-1; the largest positive value is clipped.
 * fullSigned: s = -x* / 2^(b-1) with x* the first value of largest magnitude, so x* lands on the most negative code.
 */
import type { ParameterType } from '../scheme.js';
import { type ParameterBits, scaleRule } from './parameters.js';
import { ROUNDER } from './scale.js';

export type SymmetricCodes = 'signmag' | 'full' | 'fullSigned';

/** Quantizes consecutive groups of `size` values; see quantizeAsymmetric. Codes are masked to `bits` bits. */
export function quantizeSymmetric(
  values: Float32Array,
  groups: number,
  size: number,
  bits: number,
  set: SymmetricCodes,
  codes: Uint8Array,
  scales: ParameterBits,
  type: ParameterType = 'f16',
): void {
  // A local copy stays a constant when bundled.
  const rounder = ROUNDER;
  const half = 2 ** (bits - 1);
  const lowest = set === 'signmag' ? 1 - half : -half;
  const highest = half - 1;
  const rule = scaleRule(type, set === 'signmag' ? highest : half);
  const mask = 2 ** bits - 1;
  for (let group = 0, first = 0; group < groups; group++, first += size) {
    const end = first + size;
    let largest = 0;
    let extreme = 0;
    for (let i = first; i < end; i++) {
      const value = values[i] as number;
      const magnitude = value < 0 ? -value : value;
      if (magnitude > largest) {
        largest = magnitude;
        extreme = value;
      }
    }
    const scaleBits = rule.ofExtent(set === 'fullSigned' ? -extreme : largest);
    const scale = rule.value(scaleBits);
    scales[group] = scaleBits;
    if (scale === 0) {
      codes.fill(0, first, end);
      continue;
    }
    for (let i = first; i < end; i++) {
      const code = (values[i] as number) / scale + rounder - rounder;
      codes[i] =
        (code > highest ? highest : code > lowest ? code : code <= lowest ? lowest : 0) & mask;
    }
  }
}

/** Sign-extends a two's complement code of `bits` bits. */
export function signedCode(code: number, bits: number): number {
  const shift = 32 - bits;
  return (code << shift) >> shift;
}
