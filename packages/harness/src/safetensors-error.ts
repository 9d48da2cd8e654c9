/** The one way a safetensors file is refused: code, file, tensor when known, reason, next step. */
import { LowbitKvError } from '@lowbit-kv/core';

export interface SafetensorsProblem {
  readonly reason: string;
  readonly tensor?: string | undefined;
  readonly value?: unknown;
  readonly valid?: string | readonly unknown[];
  readonly next?: string;
  readonly cause?: unknown;
}

const DEFAULT_NEXT = 'Write the file again with a safetensors library, or download it again.';

/** A SAFETENSORS_INVALID error about `file` (a path, or a label of bytes in memory). */
export function safetensorsError(file: string, problem: SafetensorsProblem): LowbitKvError {
  return new LowbitKvError('SAFETENSORS_INVALID', {
    message: problem.reason,
    next: problem.next ?? DEFAULT_NEXT,
    where: problem.tensor === undefined ? { file } : { file, tensor: problem.tensor },
    ...('value' in problem ? { value: problem.value } : {}),
    ...(problem.valid === undefined ? {} : { valid: problem.valid }),
    ...(problem.cause === undefined ? {} : { cause: problem.cause }),
  });
}
