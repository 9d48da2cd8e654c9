/** Runs something that must be refused and returns the error. */
import { type ErrorCode, LowbitKvError } from '@lowbit-kv/core';
import { expect } from 'vitest';

export async function refusal(work: Promise<unknown>, code: ErrorCode): Promise<LowbitKvError> {
  const error = await work.then(
    () => expect.fail('was accepted'),
    (reason: unknown) => reason,
  );
  if (!LowbitKvError.is(error)) throw error;
  expect(error.code).toBe(code);
  expect(error.next).not.toBe('');
  return error;
}
