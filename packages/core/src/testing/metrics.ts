/**
 * Distances between a tensor and its expected values. NaN anywhere gives NaN, which fails every comparison with a
 * tolerance; comparing nothing is an error, because it would pass every one.
 */
import { LowbitKvError } from '../errors.js';
import { checkLength } from './check.js';

/** Normalised mean squared error `sum (actual - expected)^2 / sum expected^2`. Infinite for an error where all is 0. */
export function nmse(actual: ArrayLike<number>, expected: ArrayLike<number>): number {
  checkComparable(actual, expected);
  let error = 0;
  let energy = 0;
  for (let i = 0; i < expected.length; i++) {
    const reference = expected[i] as number;
    error += ((actual[i] as number) - reference) ** 2;
    energy += reference ** 2;
  }
  return error === 0 ? 0 : error / energy;
}

/** `||actual - expected|| / ||expected||`, the square root of the NMSE. */
export function relativeError(actual: ArrayLike<number>, expected: ArrayLike<number>): number {
  return Math.sqrt(nmse(actual, expected));
}

/** `max |actual - expected|`; two equal infinities differ by 0. */
export function maxAbsDifference(actual: ArrayLike<number>, expected: ArrayLike<number>): number {
  checkComparable(actual, expected);
  let largest = 0;
  for (let i = 0; i < expected.length; i++) {
    const a = actual[i] as number;
    const b = expected[i] as number;
    // Math.max, unlike a comparison, lets NaN through.
    largest = Math.max(largest, a === b ? 0 : Math.abs(a - b));
  }
  return largest;
}

function checkComparable(actual: ArrayLike<number>, expected: ArrayLike<number>): void {
  if (expected.length === 0) {
    throw new LowbitKvError('TENSOR_INVALID', {
      message: 'there is nothing to compare',
      value: 0,
      valid: 'at least one element',
      next: 'Check the empty case by its length.',
    });
  }
  checkLength('actual', actual, expected.length, 'as many as expected');
}
