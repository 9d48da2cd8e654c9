/**
 * Errors about files of a model.
 */
import { LowbitKvError } from '@lowbit-kv/core';

export interface InvalidModel {
  readonly message: string;
  readonly value: unknown;
  readonly valid: string | readonly unknown[];
  readonly next: string;
  readonly cause?: unknown;
}

export function invalidModel(details: InvalidModel): LowbitKvError {
  return new LowbitKvError('MODEL_INVALID', details);
}
