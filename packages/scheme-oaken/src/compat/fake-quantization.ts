/**
 * The fake quantization of Oaken's artifact, bit for bit as it runs on a CPU: one forward of one tensor.
 *
 * No encoding: every value keeps its side from its own sign, outer and middle values have one range for all tokens of the
 * forward. Every range includes 0, because values of other groups enter it as 0. A token without an inner value (without
 * a middle one when outliers are left alone) has a range of 0, and all of it becomes NaN.
 */
import { roundHalfEven, roundToF16 } from '@lowbit-kv/core';

/** `full` is the scheme of the paper; `no-shift` leaves the group shift out; `middle-only` leaves outliers as they are. */
export type OakenArtifactVariant = 'full' | 'no-shift' | 'middle-only';

/** f16 values: the artifact rounds its averaged thresholds before it uses them. */
export interface ArtifactThresholds {
  readonly outerLow: number;
  readonly outerHigh: number;
  readonly innerLow: number;
  readonly innerHigh: number;
}

export const OUTER = 0;
export const MIDDLE = 1;
export const INNER = 2;
/** Of NaN, which no comparison holds for. */
export const NO_GROUP = 255;

const MIDDLE_LARGEST = 15;
const OUTLIER_LARGEST = 31;

/** Values of a forward `[tokens, width]` as the artifact hands them on; `values` are f16 values. */
export function fakeQuantize(
  values: Float32Array,
  width: number,
  thresholds: ArtifactThresholds,
  variant: OakenArtifactVariant,
): Float32Array {
  const groups = groupsOf(values, thresholds);
  if (variant === 'middle-only') {
    const middle = perToken(membersOf(values, groups, MIDDLE), width, MIDDLE_LARGEST);
    return sumOfGroups(groups, [values, middle, values]);
  }
  const { outerLow, outerHigh, innerLow, innerHigh } = thresholds;
  const shifted = (group: number, low: number, high: number, largest: number) => {
    const members = membersOf(values, groups, group);
    if (variant === 'no-shift') return overForward(members, largest);
    // The sign of a value says which threshold it is measured from; 0 has neither.
    const shift = values.map((value, i) =>
      groups[i] === group ? (value > 0 ? high : value < 0 ? low : 0) : 0,
    );
    const moved = members.map((member, i) => roundToF16(member - (shift[i] as number)));
    return overForward(moved, largest).map((y, i) => roundToF16(y + (shift[i] as number)));
  };
  return sumOfGroups(groups, [
    shifted(OUTER, outerLow, outerHigh, OUTLIER_LARGEST),
    shifted(MIDDLE, innerLow, innerHigh, MIDDLE_LARGEST),
    perToken(membersOf(values, groups, INNER), width, OUTLIER_LARGEST),
  ]);
}

/** Which group each value falls in. */
export function groupsOf(values: Float32Array, thresholds: ArtifactThresholds): Uint8Array {
  const { outerLow, outerHigh, innerLow, innerHigh } = thresholds;
  return Uint8Array.from(values, (x) => {
    if (x <= outerLow || x >= outerHigh) return OUTER;
    if (innerLow < x && x < innerHigh) return INNER;
    return Number.isNaN(x) ? NO_GROUP : MIDDLE;
  });
}

/** Values times the mask of a group: 0 elsewhere, but NaN where a value is not finite. */
function membersOf(values: Float32Array, groups: Uint8Array, group: number): Float32Array {
  return values.map((value, i) => value * (groups[i] === group ? 1 : 0));
}

/** One range for all tokens, in double precision; products and quotients pass through f32. */
function overForward(values: Float32Array, largest: number): Float32Array {
  const { minimum, maximum } = extremes(values);
  const inverseStep = largest / (maximum - minimum);
  const factor = Math.fround(inverseStep);
  const offset = roundToF16(minimum * inverseStep);
  return values.map((value) => {
    const scaled = roundToF16(Math.fround(value * factor));
    const code = roundHalfEven(roundToF16(scaled - offset));
    return roundToF16(Math.fround(roundToF16(code + offset) / factor));
  });
}

/** One range per token, everything in f16. */
function perToken(values: Float32Array, width: number, largest: number): Float32Array {
  const result = new Float32Array(values.length);
  for (let start = 0; start < values.length; start += width) {
    const row = values.subarray(start, start + width);
    const { minimum, maximum } = extremes(row);
    const inverseStep = roundToF16(roundToF16(1 / roundToF16(maximum - minimum)) * largest);
    const offset = roundToF16(minimum * inverseStep);
    for (const [i, value] of row.entries()) {
      const code = roundHalfEven(roundToF16(roundToF16(value * inverseStep) - offset));
      result[start + i] = roundToF16(roundToF16(code + offset) / inverseStep);
    }
  }
  return result;
}

/** Adds outer, middle and inner values, each masked by its group: NaN in one is NaN in the sum. */
function sumOfGroups(groups: Uint8Array, parts: readonly Float32Array[]): Float32Array {
  const sum = new Float32Array(groups.length);
  for (const [group, part] of parts.entries()) {
    const members = membersOf(part, groups, group);
    for (const [i, member] of members.entries()) sum[i] = roundToF16((sum[i] as number) + member);
  }
  return sum;
}

/** NaN when any value is. */
function extremes(values: Float32Array): { minimum: number; maximum: number } {
  let minimum = Number.POSITIVE_INFINITY;
  let maximum = Number.NEGATIVE_INFINITY;
  for (const value of values) {
    minimum = Math.min(minimum, value);
    maximum = Math.max(maximum, value);
  }
  return { minimum, maximum };
}
