/** The one way a capture is refused: code, file, tensor when known, reason, next step. */
import { LowbitKvError } from '@lowbit-kv/core';

export interface CaptureProblem {
  readonly reason: string;
  readonly tensor?: string | undefined;
  readonly value?: unknown;
  readonly valid?: string | readonly unknown[];
  readonly next?: string;
}

const DEFAULT_NEXT =
  'Write the capture again; docs/capture-format.md of @lowbit-kv/harness has the format and a writer.';

export function captureError(file: string, problem: CaptureProblem): LowbitKvError {
  return new LowbitKvError('CAPTURE_INVALID', {
    message: problem.reason,
    next: problem.next ?? DEFAULT_NEXT,
    where: problem.tensor === undefined ? { file } : { file, tensor: problem.tensor },
    ...('value' in problem ? { value: problem.value } : {}),
    ...(problem.valid === undefined ? {} : { valid: problem.valid }),
  });
}
