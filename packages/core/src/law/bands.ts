/**
 * Magnitude bands with group shift, docs/law.md 6: every element is outer, middle or inner by four
 * thresholds; the shift moves each band to its threshold; one vector shares the parameters of each band.
 *
 * Dense slot: a nibble per element. Middle `midRise`: bit 3 = low side, bits 0-2 = cell of eight. Middle `uniform`:
 * 4-bit asymmetric code of the signed shifted value, rounded so that its side survives. Outer and inner: the low four
 * bits of a 5-bit code; the fifth bit goes into the sparse entry (`low side` for outer, `high half` for inner).
 */
import { f16DecodeTable } from '../float16.js';
import { offsetBits, ROUNDER, scaleBits } from './scale.js';

export interface BandThresholds {
  readonly outerLow: number;
  readonly outerHigh: number;
  readonly innerLow: number;
  readonly innerHigh: number;
}

export const MIDDLE = 0;
export const OUTER = 1;
export const INNER = 2;

/** f16 bits of the parameters of one vector; a band without members has zeros. */
export interface BandParameters {
  middleMaximum: number;
  middleMinimum: number;
  middleStep: number;
  outerMinimum: number;
  outerStep: number;
  innerMinimum: number;
  innerStep: number;
}

export function emptyBandParameters(): BandParameters {
  return {
    middleMaximum: 0,
    middleMinimum: 0,
    middleStep: 0,
    outerMinimum: 0,
    outerStep: 0,
    innerMinimum: 0,
    innerStep: 0,
  };
}

/**
 * Quantizes one vector: outer is closed, inner open, everything else (also NaN) middle. `nibbles`, `bands` and `fifthBits`
 * get one entry per element (`fifthBits` only for outer and inner elements). Parameters are written to `parameters`.
 */
export function quantizeBands(
  values: Float32Array,
  edges: BandThresholds,
  middle: 'midRise' | 'uniform',
  nibbles: Uint8Array,
  bands: Uint8Array,
  fifthBits: Uint8Array,
  parameters: BandParameters,
): void {
  const { outerLow, outerHigh, innerLow, innerHigh } = edges;
  const table = f16DecodeTable();
  const count = values.length;
  const midRise = middle === 'midRise';
  let outerLeast = Number.POSITIVE_INFINITY;
  let outerMost = Number.NEGATIVE_INFINITY;
  let innerLeast = Number.POSITIVE_INFINITY;
  let innerMost = Number.NEGATIVE_INFINITY;
  let shiftLeast = Number.POSITIVE_INFINITY;
  let shiftMost = Number.NEGATIVE_INFINITY;
  let anyLow = false;
  let anyHigh = false;
  for (let i = 0; i < count; i++) {
    const value = values[i] as number;
    if (value <= outerLow || value >= outerHigh) {
      bands[i] = OUTER;
      const magnitude = Math.fround(value >= outerHigh ? value - outerHigh : outerLow - value);
      if (magnitude < outerLeast) outerLeast = magnitude;
      if (magnitude > outerMost) outerMost = magnitude;
    } else if (value > innerLow && value < innerHigh) {
      bands[i] = INNER;
      if (value < innerLeast) innerLeast = value;
      if (value > innerMost) innerMost = value;
    } else {
      bands[i] = MIDDLE;
      const high = value >= innerHigh;
      const shift = Math.fround(high ? value - innerHigh : value - innerLow);
      if (shift < shiftLeast) shiftLeast = shift;
      if (shift > shiftMost) shiftMost = shift;
      if (high) anyHigh = true;
      else anyLow = true;
    }
  }
  Object.assign(parameters, emptyBandParameters());
  [parameters.outerMinimum, parameters.outerStep] = affineParameters(outerLeast, outerMost, 15);
  [parameters.innerMinimum, parameters.innerStep] = affineParameters(innerLeast, innerMost, 31);
  const outerMinimum = table[parameters.outerMinimum] as number;
  const outerStep = table[parameters.outerStep] as number;
  const innerMinimum = table[parameters.innerMinimum] as number;
  const innerStep = table[parameters.innerStep] as number;
  let maximum = 0;
  let middleMinimum = 0;
  let middleStep = 0;
  let lowCodes = 0;
  if (midRise) {
    parameters.middleMaximum = scaleBits(Math.max(-shiftLeast, shiftMost, 0));
    maximum = table[parameters.middleMaximum] as number;
  } else if (shiftLeast <= shiftMost) {
    // A low side needs a code that decodes below zero.
    if (anyLow) shiftLeast = Math.min(shiftLeast, -(2 ** -14));
    [parameters.middleMinimum, parameters.middleStep] = affineParameters(shiftLeast, shiftMost, 15);
    middleMinimum = table[parameters.middleMinimum] as number;
    // A high side needs one that does not: the rounded step may fall short by less than one f16 step.
    if (anyHigh && middleMinimum + 15 * (table[parameters.middleStep] as number) < 0)
      parameters.middleStep++;
    middleStep = table[parameters.middleStep] as number;
    while (lowCodes < 16 && middleMinimum + lowCodes * middleStep < 0) lowCodes++;
  }
  for (let i = 0; i < count; i++) {
    const value = values[i] as number;
    const band = bands[i] as number;
    if (band === OUTER) {
      const high = value >= outerHigh;
      const magnitude = Math.fround(high ? value - outerHigh : outerLow - value);
      nibbles[i] = nearestCode(Math.fround(magnitude - outerMinimum), outerStep, 15);
      fifthBits[i] = high ? 0 : 1;
    } else if (band === INNER) {
      const code = nearestCode(Math.fround(value - innerMinimum), innerStep, 31);
      nibbles[i] = code & 15;
      fifthBits[i] = code >> 4;
    } else {
      const high = value >= innerHigh;
      const shift = Math.fround(high ? value - innerHigh : value - innerLow);
      fifthBits[i] = 0;
      if (midRise) {
        nibbles[i] = (high ? 0 : 8) | midRiseCell(Math.abs(shift), maximum);
      } else {
        const code = nearestCode(Math.fround(shift - middleMinimum), middleStep, 15);
        nibbles[i] = high ? Math.max(code, lowCodes) : Math.min(code, Math.max(lowCodes - 1, 0));
      }
    }
  }
}

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

/** floor(8 |y| / M), at most 7; 0 when M is 0. A quotient of 24 by 11 bits is never so near below an integer as to round to it. */
function midRiseCell(magnitude: number, maximum: number): number {
  if (maximum === 0) return 0;
  const cell = ((8 * magnitude) / maximum) | 0;
  return Math.min(cell, 7);
}

function affineParameters(minimum: number, maximum: number, largestCode: number): [number, number] {
  if (minimum > maximum) return [0, 0];
  const minimumBits = offsetBits(minimum);
  // A minimum that was rounded up can exceed the maximum: the range is then empty, never negative.
  const width = Math.max(Math.fround(maximum - (f16DecodeTable()[minimumBits] as number)), 0);
  const step = Math.fround(width * Math.fround(1 / largestCode));
  return [minimumBits, scaleBits(step)];
}

function nearestCode(difference: number, step: number, largestCode: number): number {
  if (step === 0) return 0;
  // A local copy stays a constant when bundled.
  const rounder = ROUNDER;
  const code = difference / step + rounder - rounder;
  // biome-ignore lint/complexity/useMathMinMax: a NaN must become 0
  return code > largestCode ? largestCode : code > 0 ? code : 0;
}
