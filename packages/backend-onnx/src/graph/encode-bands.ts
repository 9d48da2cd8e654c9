/**
 * The band quantizer: outer, middle and inner values, each shifted to its threshold, one set of parameters per vector.
 */
import type { Value } from './builder.js';
import type { Operations } from './operations.js';
import { affineParameters } from './parameters.js';
import { f16Neighbour, nearestCode, type Range, rangeOf, roundScale } from './rounding.js';

export interface BandEdges {
  readonly outerLow: Value;
  readonly outerHigh: Value;
  readonly innerLow: Value;
  readonly innerHigh: Value;
}

export interface QuantizedBands {
  /** int32 nibbles, shape of the values. */
  readonly nibbles: Value;
  readonly isOuter: Value;
  readonly isInner: Value;
  /** int32 0 or 1: low side of outer values, high half of inner codes. */
  readonly fifthBits: Value;
  /** f32 by parameter name, 1 along the reduced axes; 0 for a band without members. */
  readonly parameters: Readonly<Record<string, Value>>;
}

/** The four f32 thresholds, from an input `[outerLow, outerHigh, innerLow, innerHigh]`. */
export function bandEdges(o: Operations, thresholds: Value): BandEdges {
  const edge = (index: number) => o.slice(thresholds, 0, index, index + 1);
  return { outerLow: edge(0), outerHigh: edge(1), innerLow: edge(2), innerHigh: edge(3) };
}

/** Quantizes f32 vectors; `axes` are the axes of one vector. */
export function quantizeBands(
  o: Operations,
  values: Value,
  edges: BandEdges,
  middle: 'midRise' | 'uniform',
  axes: readonly number[],
): QuantizedBands {
  const onHighSide = o.atLeast(values, edges.outerHigh);
  const isOuter = o.or(onHighSide, o.atMost(values, edges.outerLow));
  const between = o.and(o.greater(values, edges.innerLow), o.less(values, edges.innerHigh));
  const isInner = o.and(between, o.not(isOuter));
  const isMiddle = o.not(o.or(isOuter, isInner));

  const magnitude = o.select(
    onHighSide,
    o.subtract(values, edges.outerHigh),
    o.subtract(edges.outerLow, values),
  );
  const outer = affineBand(o, magnitude, rangeOf(o, magnitude, isOuter, axes), 15);
  const inner = affineBand(o, values, rangeOf(o, values, isInner, axes), 31);
  const dense = (middle === 'midRise' ? midRiseMiddle : uniformMiddle)(
    o,
    values,
    edges,
    isMiddle,
    axes,
  );
  const upperHalf = o.atLeast(inner.codes, 16);
  const innerNibbles = o.select(upperHalf, o.subtract(inner.codes, 16), inner.codes);
  const outerBits = o.cast(o.not(onHighSide), 'int32');
  return {
    nibbles: o.select(isOuter, outer.codes, o.select(isInner, innerNibbles, dense.codes)),
    isOuter,
    isInner,
    fifthBits: o.select(isOuter, outerBits, o.cast(upperHalf, 'int32')),
    parameters: {
      ...dense.parameters,
      outerMinimum: outer.minimum,
      outerStep: outer.step,
      innerMinimum: inner.minimum,
      innerStep: inner.step,
    },
  };
}

function affineBand(o: Operations, values: Value, range: Range, largestCode: number) {
  const { minimum, step } = affineParameters(o, range, largestCode);
  const codes = nearestCode(o, o.subtract(values, minimum), step, 0, largestCode);
  return { codes: o.cast(codes, 'int32'), minimum, step };
}

interface MiddleBand {
  readonly codes: Value;
  readonly parameters: Readonly<Record<string, Value>>;
}

type MiddleRule = (
  o: Operations,
  values: Value,
  edges: BandEdges,
  isMiddle: Value,
  axes: readonly number[],
) => MiddleBand;

/** Bit 3 is the low side, bits 0-2 the cell of eight: how many k of 1 to 7 have 8 |y| >= k M. */
const midRiseMiddle: MiddleRule = (o, values, edges, isMiddle, axes) => {
  const { isHigh, shifted } = shiftMiddle(o, values, edges);
  const magnitude = o.absolute(shifted);
  const largest = rangeOf(o, magnitude, isMiddle, axes);
  const middleMaximum = roundScale(o, o.select(largest.empty, 0, largest.maximum));
  const scaled = o.multiply(magnitude, 8);
  const reached = [1, 2, 3, 4, 5, 6, 7].map((k) =>
    o.cast(o.atLeast(scaled, o.multiply(middleMaximum, k)), 'int32'),
  );
  const count = reached.reduce((sum, one) => o.add(sum, one));
  const cell = o.select(o.equal(middleMaximum, 0), 0, count);
  return { codes: o.select(isHigh, cell, o.add(cell, 8)), parameters: { middleMaximum } };
};

/** 4-bit codes of the signed shifted value, rounded so that the decoder finds the side in the sign. */
const uniformMiddle: MiddleRule = (o, values, edges, isMiddle, axes) => {
  const { isHigh, shifted } = shiftMiddle(o, values, edges);
  const range = rangeOf(o, shifted, isMiddle, axes);
  const some = (mask: Value) =>
    o.greater(o.reduceMaximum(o.cast(o.and(mask, isMiddle), 'int32'), axes), 0);
  const anyLow = some(o.not(isHigh));
  // A low side needs a code that decodes below zero.
  const forced = o.minimum(range.minimum, -(2 ** -14));
  const minimum = o.select(o.and(anyLow, o.not(range.empty)), forced, range.minimum);
  const band = affineParameters(o, { ...range, minimum }, 15);
  // A high side needs one that does not: the rounded step may fall short of it.
  const top = decoded(o, band, o.scalar('float64', 15));
  const short = o.and(some(isHigh), o.less(top, 0));
  const step = o.select(o.and(short, o.not(range.empty)), f16Neighbour(o, band.step, 1), band.step);
  const difference = o.subtract(shifted, band.minimum);
  const code = o.cast(nearestCode(o, difference, step, 0, 15), 'int32');
  const lowCodes = Array.from({ length: 16 }, (_, c) =>
    o.cast(o.less(decoded(o, { minimum: band.minimum, step }, o.scalar('float64', c)), 0), 'int32'),
  ).reduce((sum, one) => o.add(sum, one));
  const lowest = o.maximum(o.subtract(lowCodes, 1), 0);
  return {
    codes: o.select(isHigh, o.maximum(code, lowCodes), o.minimum(code, lowest)),
    parameters: { middleMinimum: band.minimum, middleStep: step },
  };
};

/** minimum + code * step, exact in f64. */
function decoded(
  o: Operations,
  band: { readonly minimum: Value; readonly step: Value },
  code: Value,
): Value {
  return o.add(o.multiply(o.cast(band.step, 'float64'), code), o.cast(band.minimum, 'float64'));
}

function shiftMiddle(o: Operations, values: Value, edges: BandEdges) {
  const isHigh = o.atLeast(values, edges.innerHigh);
  const shifted = o.subtract(values, o.select(isHigh, edges.innerHigh, edges.innerLow));
  return { isHigh, shifted };
}
