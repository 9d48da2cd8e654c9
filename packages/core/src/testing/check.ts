/**
 * Argument checks shared by the testing helpers: a wrong argument must not become wrong expected data.
 */
import { LowbitKvError } from '../errors.js';

/** Returns `value` when it is an integer in `[minimum, maximum]`, else throws OPTION_INVALID. */
export function checkInteger(
  name: string,
  value: number,
  minimum: number,
  maximum: number = Number.MAX_SAFE_INTEGER,
): number {
  if (Number.isSafeInteger(value) && value >= minimum && value <= maximum) return value;
  throw new LowbitKvError('OPTION_INVALID', {
    message: `${name} is out of range`,
    value,
    valid: `an integer from ${minimum} to ${maximum}`,
    next: `Pass a valid ${name}.`,
  });
}

/** Throws TENSOR_INVALID unless `tensor` holds exactly `expected` elements. */
export function checkLength(
  tensor: string,
  values: ArrayLike<number>,
  expected: number,
  shape: string,
): void {
  if (values.length === expected) return;
  throw new LowbitKvError('TENSOR_INVALID', {
    message: `${tensor} has the wrong number of elements`,
    value: values.length,
    valid: `${expected} elements, ${shape}`,
    next: 'Pass the whole tensor in this layout, without padding.',
    where: { tensor },
  });
}

/** Number of elements of a shape. */
export function elementCount(shape: readonly number[]): number {
  return shape.reduce(
    (count, extent, axis) => count * checkInteger(`shape[${axis}]`, extent, 0),
    1,
  );
}
