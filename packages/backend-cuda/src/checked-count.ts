/**
 * Counts that callers give.
 */
import { LowbitKvError } from '@lowbit-kv/core';

/** Throws OPTION_INVALID unless it is a whole number from 1 on. */
export function checkedCount(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new LowbitKvError('OPTION_INVALID', {
    message: `${name} is not a count`,
    value,
    valid: 'a whole number from 1 on',
    next: 'Give the largest number that a step will have.',
  });
}
