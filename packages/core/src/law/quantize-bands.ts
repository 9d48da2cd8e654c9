/**
 * Quantizes one vector into magnitude bands, docs/law.md 6. Members of a band are listed first, without a branch that
 * no processor could guess; then each band has loops of its own.
 */
import { f16DecodeTable } from '../float16.js';
import { type BandThresholds, INNER, MIDDLE, OUTER } from './bands.js';
import { offsetBits, ROUNDER, scaleBits } from './scale.js';

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

/** What `quantizeBands` writes, one entry per element, and its room to work in. */
export interface BandVector {
  readonly nibbles: Uint8Array;
  /** MIDDLE, OUTER or INNER. */
  readonly bands: Uint8Array;
  /** 1 for the low side of outer elements and the high half of inner codes, otherwise 0. */
  readonly fifthBits: Uint8Array;
  readonly parameters: BandParameters;
  /** Indices of each band's elements, by band. */
  readonly members: readonly [Uint32Array, Uint32Array, Uint32Array];
}

export function bandVector(length: number): BandVector {
  return {
    nibbles: new Uint8Array(length),
    bands: new Uint8Array(length),
    fifthBits: new Uint8Array(length),
    parameters: {
      middleMaximum: 0,
      middleMinimum: 0,
      middleStep: 0,
      outerMinimum: 0,
      outerStep: 0,
      innerMinimum: 0,
      innerStep: 0,
    },
    // One more: an index is written before it is known to belong.
    members: [
      new Uint32Array(length + 1),
      new Uint32Array(length + 1),
      new Uint32Array(length + 1),
    ],
  };
}

/** Outer is closed, inner open, everything else (also NaN) middle. `values` and `target` have one length. */
export function quantizeBands(
  values: Float32Array,
  edges: BandThresholds,
  middle: 'midRise' | 'uniform',
  target: BandVector,
): void {
  const { outerLow, outerHigh, innerLow, innerHigh } = edges;
  const { bands } = target;
  const dense = target.members[MIDDLE];
  const outer = target.members[OUTER];
  const inner = target.members[INNER];
  let denseCount = 0;
  let outerCount = 0;
  let innerCount = 0;
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as number;
    const isOuter = Number(value <= outerLow) | Number(value >= outerHigh);
    const isInner = Number(value > innerLow) & Number(value < innerHigh) & (isOuter ^ 1);
    bands[i] = isOuter * OUTER + isInner * INNER;
    dense[denseCount] = i;
    outer[outerCount] = i;
    inner[innerCount] = i;
    denseCount += (isOuter | isInner) ^ 1;
    outerCount += isOuter;
    innerCount += isInner;
  }
  quantizeOuter(values, edges, target, outerCount);
  quantizeInner(values, target, innerCount);
  if (middle === 'midRise') quantizeMidRise(values, edges, target, denseCount);
  else quantizeUniform(values, edges, target, denseCount);
}

function quantizeOuter(
  values: Float32Array,
  edges: BandThresholds,
  target: BandVector,
  count: number,
): void {
  const { outerLow, outerHigh } = edges;
  const { nibbles, fifthBits, parameters } = target;
  const members = target.members[OUTER];
  let least = Number.POSITIVE_INFINITY;
  let most = Number.NEGATIVE_INFINITY;
  for (let member = 0; member < count; member++) {
    const value = values[members[member] as number] as number;
    const magnitude = Math.fround(value >= outerHigh ? value - outerHigh : outerLow - value);
    if (magnitude < least) least = magnitude;
    if (magnitude > most) most = magnitude;
  }
  parameters.outerMinimum = minimumBits(least, most);
  parameters.outerStep = stepBits(least, most, parameters.outerMinimum, 15);
  const minimum = f16DecodeTable()[parameters.outerMinimum] as number;
  const step = f16DecodeTable()[parameters.outerStep] as number;
  for (let member = 0; member < count; member++) {
    const i = members[member] as number;
    const value = values[i] as number;
    const high = value >= outerHigh;
    const magnitude = Math.fround(high ? value - outerHigh : outerLow - value);
    nibbles[i] = nearestCode(Math.fround(magnitude - minimum), step, 15);
    fifthBits[i] = high ? 0 : 1;
  }
}

function quantizeInner(values: Float32Array, target: BandVector, count: number): void {
  const { nibbles, fifthBits, parameters } = target;
  const members = target.members[INNER];
  let least = Number.POSITIVE_INFINITY;
  let most = Number.NEGATIVE_INFINITY;
  for (let member = 0; member < count; member++) {
    const value = values[members[member] as number] as number;
    if (value < least) least = value;
    if (value > most) most = value;
  }
  parameters.innerMinimum = minimumBits(least, most);
  parameters.innerStep = stepBits(least, most, parameters.innerMinimum, 31);
  const minimum = f16DecodeTable()[parameters.innerMinimum] as number;
  const step = f16DecodeTable()[parameters.innerStep] as number;
  for (let member = 0; member < count; member++) {
    const i = members[member] as number;
    const code = nearestCode(Math.fround((values[i] as number) - minimum), step, 31);
    nibbles[i] = code & 15;
    fifthBits[i] = code >> 4;
  }
}

function quantizeMidRise(
  values: Float32Array,
  edges: BandThresholds,
  target: BandVector,
  count: number,
): void {
  const { nibbles, fifthBits, parameters } = target;
  const members = target.members[MIDDLE];
  const { innerHigh } = edges;
  const thresholds = [edges.innerLow, innerHigh];
  let largest = 0;
  for (let member = 0; member < count; member++) {
    const value = values[members[member] as number] as number;
    const high = Number(value >= innerHigh);
    const magnitude = Math.abs(Math.fround(value - (thresholds[high] as number)));
    if (magnitude > largest) largest = magnitude;
  }
  parameters.middleMaximum = scaleBits(largest);
  parameters.middleMinimum = 0;
  parameters.middleStep = 0;
  const maximum = f16DecodeTable()[parameters.middleMaximum] as number;
  for (let member = 0; member < count; member++) {
    const i = members[member] as number;
    const value = values[i] as number;
    const high = Number(value >= innerHigh);
    const magnitude = Math.abs(Math.fround(value - (thresholds[high] as number)));
    nibbles[i] = ((high ^ 1) << 3) | midRiseCell(magnitude, maximum);
    fifthBits[i] = 0;
  }
}

function quantizeUniform(
  values: Float32Array,
  edges: BandThresholds,
  target: BandVector,
  count: number,
): void {
  const { nibbles, fifthBits, parameters } = target;
  const members = target.members[MIDDLE];
  const { innerHigh } = edges;
  const thresholds = [edges.innerLow, innerHigh];
  let least = Number.POSITIVE_INFINITY;
  let most = Number.NEGATIVE_INFINITY;
  let highCount = 0;
  for (let member = 0; member < count; member++) {
    const value = values[members[member] as number] as number;
    const high = Number(value >= innerHigh);
    const shift = Math.fround(value - (thresholds[high] as number));
    if (shift < least) least = shift;
    if (shift > most) most = shift;
    highCount += high;
  }
  // A low side needs a code that decodes below zero.
  if (highCount < count && least <= most) least = Math.min(least, -(2 ** -14));
  parameters.middleMaximum = 0;
  parameters.middleMinimum = minimumBits(least, most);
  parameters.middleStep = stepBits(least, most, parameters.middleMinimum, 15);
  const table = f16DecodeTable();
  const minimum = table[parameters.middleMinimum] as number;
  // A high side needs one that does not: the rounded step may fall short by less than one f16 step.
  if (highCount > 0 && minimum + 15 * (table[parameters.middleStep] as number) < 0)
    parameters.middleStep++;
  const step = table[parameters.middleStep] as number;
  let lowCodes = 0;
  while (lowCodes < 16 && minimum + lowCodes * step < 0) lowCodes++;
  // By side: the codes that decode on it.
  const leastCodes = [0, lowCodes];
  const mostCodes = [Math.max(lowCodes - 1, 0), 15];
  for (let member = 0; member < count; member++) {
    const i = members[member] as number;
    const value = values[i] as number;
    const high = Number(value >= innerHigh);
    const shift = Math.fround(value - (thresholds[high] as number));
    const code = nearestCode(Math.fround(shift - minimum), step, 15) | 0;
    nibbles[i] = Math.max(leastCodes[high] as number, Math.min(code, mostCodes[high] as number));
    fifthBits[i] = 0;
  }
}

/** f16 bits of the least member; 0 without members. */
function minimumBits(least: number, most: number): number {
  return least > most ? 0 : offsetBits(least);
}

/** f16 bits of the step between codes; 0 without members. */
function stepBits(least: number, most: number, minimum: number, largestCode: number): number {
  if (least > most) return 0;
  // A minimum that was rounded up can exceed the maximum: the range is then empty, never negative.
  const width = Math.max(Math.fround(most - (f16DecodeTable()[minimum] as number)), 0);
  return scaleBits(Math.fround(width * Math.fround(1 / largestCode)));
}

/** floor(8 |y| / M), at most 7; 0 when M is 0. A quotient of 24 by 11 bits is never so near below an integer as to round to it. */
function midRiseCell(magnitude: number, maximum: number): number {
  if (maximum === 0) return 0;
  const cell = ((8 * magnitude) / maximum) | 0;
  return Math.min(cell, 7);
}

function nearestCode(difference: number, step: number, largestCode: number): number {
  if (step === 0) return 0;
  // A local copy stays a constant when bundled.
  const rounder = ROUNDER;
  const code = difference / step + rounder - rounder;
  // biome-ignore lint/complexity/useMathMinMax: a NaN must become 0
  return code > largestCode ? largestCode : code > 0 ? code : 0;
}
