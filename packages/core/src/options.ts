/**
 * Checks of option objects that are too hot, or too small, for a schema.
 */
import { LowbitKvError } from './errors.js';
import { suggestion } from './suggest.js';

/** Throws OPTION_INVALID unless the value is an integer of at least `minimum`. */
export function checkCount(name: string, value: unknown, minimum: number): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= minimum) return value;
  throw new LowbitKvError('OPTION_INVALID', {
    message: `${name} is not valid`,
    value,
    valid: `an integer of at least ${minimum}`,
    next: 'Correct the option.',
    where: { field: name },
  });
}

/** Throws OPTION_INVALID unless the value is an array; `items` says of what. */
export function checkList(what: string, value: unknown, items: string): void {
  if (Array.isArray(value)) return;
  throw new LowbitKvError('OPTION_INVALID', {
    message: `${what} takes a list`,
    value: typeof value,
    valid: `an array of ${items}`,
    next: 'Pass an array.',
  });
}

/** Throws OPTION_INVALID for a field that `known` does not list: a misspelt option must not be ignored. */
export function checkOptions(what: string, options: object, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null) {
    throw new LowbitKvError('OPTION_INVALID', {
      message: `${what} takes an object of options`,
      value: options,
      valid: `an object with ${known.join(', ')}, or nothing`,
      next: 'Correct the argument.',
    });
  }
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue;
    throw new LowbitKvError('OPTION_INVALID', {
      message: `${what} has no option ${JSON.stringify(name)}`,
      value: name,
      valid: known,
      next: suggestion(name, known) ?? 'Remove it, or correct its name.',
      where: { field: name },
    });
  }
}
