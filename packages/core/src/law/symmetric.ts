/**
 * Symmetric group quantizers, docs/law.md 4. Codes are two's complement in `bits` bits, parameters one scale.
 *
 * signmag: s = max|x| / (2^(b-1) - 1), codes -(2^(b-1)-1) .. 2^(b-1)-1.
 * full: s = max|x| / 2^(b-1), codes -2^(b-1) .. 2^(b-1)-1; the largest positive value is clipped.
 * fullSigned: s = -x* / 2^(b-1) with x* the first value of largest magnitude, so x* lands on the most negative code.
 */
import { f16DecodeTable } from '../float16.js';
import { ROUNDER, scaleBits } from './scale.js';

export type SymmetricCodes = 'signmag' | 'full' | 'fullSigned';

/** Quantizes consecutive groups of `size` values; see quantizeAsymmetric. Codes are masked to `bits` bits. */
export function quantizeSymmetric(
  values: Float32Array,
  groups: number,
  size: number,
  bits: number,
  set: SymmetricCodes,
  codes: Uint8Array,
  scales: Uint16Array,
): void {
  const table = f16DecodeTable();
  // A local copy stays a constant when bundled.
  const rounder = ROUNDER;
  const half = 2 ** (bits - 1);
  const lowest = set === 'signmag' ? 1 - half : -half;
  const highest = half - 1;
  const step = Math.fround(1 / (set === 'signmag' ? highest : half));
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
    const bitsOfScale = scaleBits(Math.fround((set === 'fullSigned' ? -extreme : largest) * step));
    const scale = table[bitsOfScale] as number;
    scales[group] = bitsOfScale;
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
