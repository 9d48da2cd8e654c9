/**
 * Magnitude bands with group shift, docs/law.md 6: every element is outer, middle or inner by four
 * thresholds; the shift moves each band to its threshold; one vector shares the parameters of each band.
 *
 * Dense slot: a nibble per element. Middle `midRise`: bit 3 = low side, bits 0-2 = cell of eight. Middle `uniform`:
 * 4-bit asymmetric code of the signed shifted value, rounded so that its side survives. Outer and inner: the low four
 * bits of a 5-bit code; the fifth bit goes into the sparse entry (`low side` for outer, `high half` for inner).
 */

export interface BandThresholds {
  readonly outerLow: number;
  readonly outerHigh: number;
  readonly innerLow: number;
  readonly innerHigh: number;
}

export const MIDDLE = 0;
export const OUTER = 1;
export const INNER = 2;

/** Value of an outer element. */
export function decodeOuter(
  nibble: number,
  low: number,
  minimum: number,
  step: number,
  edges: BandThresholds,
): number {
  const magnitude = Math.fround(nibble * step + minimum);
  return Math.fround(low === 1 ? edges.outerLow - magnitude : edges.outerHigh + magnitude);
}

/** Value of a middle element coded `midRise`: the middle of its cell, M/16 (2 cell + 1) from the threshold. */
export function decodeMidRise(nibble: number, maximum: number, edges: BandThresholds): number {
  const magnitude = ((nibble & 7) * 2 + 1) * (maximum / 16);
  return Math.fround((nibble & 8) === 0 ? edges.innerHigh + magnitude : edges.innerLow - magnitude);
}

/** Value of a middle element coded `uniform`: below zero is the low side. */
export function decodeShifted(
  nibble: number,
  minimum: number,
  step: number,
  edges: BandThresholds,
): number {
  const shift = Math.fround(nibble * step + minimum);
  return Math.fround(shift < 0 ? edges.innerLow + shift : edges.innerHigh + shift);
}
