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
  /** Of the members of one band after another: distances from a threshold, then codes. */
  readonly work: Float32Array;
}

export function bandVector(length: number): BandVector {
  // One more: an index is written before it is known to belong.
  const list = () => new Uint32Array(length + 1);
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
    members: [list(), list(), list()],
    work: new Float32Array(length),
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
  { outerLow, outerHigh }: BandThresholds,
  { nibbles, fifthBits, parameters, members, work }: BandVector,
  count: number,
): void {
  const outer = members[OUTER];
  for (let member = 0; member < count; member++) {
    const i = outer[member] as number;
    const value = values[i] as number;
    const high = value >= outerHigh;
    work[member] = high ? value - outerHigh : outerLow - value;
    fifthBits[i] = high ? 0 : 1;
  }
  const [least, most] = [leastOf(work, count), mostOf(work, count)];
  parameters.outerMinimum = minimumBits(least, most);
  parameters.outerStep = stepBits(least, most, parameters.outerMinimum, 15);
  toCodes(work, count, parameters.outerMinimum, parameters.outerStep, 15);
  for (let member = 0; member < count; member++)
    nibbles[outer[member] as number] = work[member] as number;
}

function quantizeInner(
  values: Float32Array,
  { nibbles, fifthBits, parameters, members, work }: BandVector,
  count: number,
): void {
  const inner = members[INNER];
  for (let member = 0; member < count; member++)
    work[member] = values[inner[member] as number] as number;
  const [least, most] = [leastOf(work, count), mostOf(work, count)];
  parameters.innerMinimum = minimumBits(least, most);
  parameters.innerStep = stepBits(least, most, parameters.innerMinimum, 31);
  toCodes(work, count, parameters.innerMinimum, parameters.innerStep, 31);
  for (let member = 0; member < count; member++) {
    const i = inner[member] as number;
    const code = work[member] as number;
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
  const { nibbles, parameters, members, work } = target;
  const dense = members[MIDDLE];
  shiftMiddle(values, edges, target, count);
  parameters.middleMaximum = scaleBits(Math.max(-leastOf(work, count), mostOf(work, count), 0));
  parameters.middleMinimum = 0;
  parameters.middleStep = 0;
  const maximum = f16DecodeTable()[parameters.middleMaximum] as number;
  for (let member = 0; member < count; member++) {
    const i = dense[member] as number;
    const high = Number((values[i] as number) >= edges.innerHigh);
    const cell = midRiseCell(Math.abs(work[member] as number), maximum);
    nibbles[i] = ((high ^ 1) << 3) | cell;
  }
}

function quantizeUniform(
  values: Float32Array,
  edges: BandThresholds,
  target: BandVector,
  count: number,
): void {
  const { nibbles, parameters, members, work } = target;
  const dense = members[MIDDLE];
  const highCount = shiftMiddle(values, edges, target, count);
  const most = mostOf(work, count);
  let least = leastOf(work, count);
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
  toCodes(work, count, parameters.middleMinimum, parameters.middleStep, 15);
  for (let member = 0; member < count; member++) {
    const i = dense[member] as number;
    const high = Number((values[i] as number) >= edges.innerHigh);
    const code = Math.min(work[member] as number, mostCodes[high] as number);
    nibbles[i] = Math.max(leastCodes[high] as number, code);
  }
}

/** Distances of the middle from the threshold of its side go to `work`; returns how many are on the high side. */
function shiftMiddle(
  values: Float32Array,
  { innerLow, innerHigh }: BandThresholds,
  { fifthBits, members, work }: BandVector,
  count: number,
): number {
  const dense = members[MIDDLE];
  const thresholds = [innerLow, innerHigh];
  let highCount = 0;
  for (let member = 0; member < count; member++) {
    const i = dense[member] as number;
    const value = values[i] as number;
    const high = Number(value >= innerHigh);
    work[member] = value - (thresholds[high] as number);
    fifthBits[i] = 0;
    highCount += high;
  }
  return highCount;
}

/** NaN is neither the least nor the most. */
function leastOf(work: Float32Array, count: number): number {
  let least = Number.POSITIVE_INFINITY;
  for (let member = 0; member < count; member++) {
    const value = work[member] as number;
    if (value < least) least = value;
  }
  return least;
}

function mostOf(work: Float32Array, count: number): number {
  let most = Number.NEGATIVE_INFINITY;
  for (let member = 0; member < count; member++) {
    const value = work[member] as number;
    if (value > most) most = value;
  }
  return most;
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

/** Replaces numbers by the nearest codes of an affine rule, ties to even. */
function toCodes(
  work: Float32Array,
  count: number,
  minimumBits: number,
  stepBits: number,
  largestCode: number,
): void {
  const minimum = f16DecodeTable()[minimumBits] as number;
  const step = f16DecodeTable()[stepBits] as number;
  if (step === 0) {
    work.fill(0, 0, count);
    return;
  }
  // A local copy stays a constant when bundled.
  const rounder = ROUNDER;
  for (let member = 0; member < count; member++) {
    const difference = Math.fround((work[member] as number) - minimum);
    const code = difference / step + rounder - rounder;
    // biome-ignore lint/complexity/useMathMinMax: a NaN must become 0
    work[member] = code > largestCode ? largestCode : code > 0 ? code : 0;
  }
}

/** floor(8 |y| / M), at most 7; 0 when M is 0. A quotient of 24 by 11 bits is never so near below an integer as to round to it. */
function midRiseCell(magnitude: number, maximum: number): number {
  if (maximum === 0) return 0;
  const cell = ((8 * magnitude) / maximum) | 0;
  return Math.min(cell, 7);
}
