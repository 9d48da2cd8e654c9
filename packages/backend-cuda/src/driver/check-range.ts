/**
 * Bounds of memory.
 */
import { LowbitKvError } from '@lowbit-kv/core';

/** Throws OPTION_INVALID unless `offset` to `offset + bytes` lies in `available` bytes. */
export function checkRange(what: string, offset: number, bytes: number, available: number): void {
  const whole = Number.isSafeInteger(offset) && Number.isSafeInteger(bytes);
  if (whole && offset >= 0 && bytes >= 0 && offset + bytes <= available) return;
  throw new LowbitKvError('OPTION_INVALID', {
    message: `${what} lies outside its memory`,
    value: { offset, bytes },
    valid: `whole numbers, offset + bytes at most ${available}`,
    next: 'Correct the offset or the size.',
  });
}
