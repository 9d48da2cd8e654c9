/**
 * A store whose faults name the backend, what it was doing and what to do, whatever the backend throws.
 */
import type { AttentionResult, BlockStore } from '../backend.js';
import { formatValue, LowbitKvError } from '../errors.js';

const AGAIN = 'Try again; if it fails again, create a new cache and restore a snapshot.';
const STEP = `The step is over and its sequences are as before it. ${AGAIN}`;

/** What failed, and the next step. */
const WORK = {
  append: ['while it stored keys and values', STEP],
  attend: ['in attention', `Sequences are as before. ${AGAIN}`],
  read: ['while it read a result of attention back', `Sequences are as before. ${AGAIN}`],
  settle: ['while it finished a step', STEP],
  readPages: ['while it read pages back', `Sequences are as before. ${AGAIN}`],
  writePages: ['while it wrote pages', `Nothing was restored. ${AGAIN}`],
  dispose: [
    'while it freed its memory',
    'Dispose the backend or the device too; the cache is of no further use.',
  ],
} as const;

/** Errors that are no LowbitKvError become BACKEND_FAILED, with the error as its cause. */
export function guardStore(id: string, inner: BlockStore): BlockStore {
  const now = <T>(name: keyof typeof WORK, work: () => T): T => {
    try {
      return work();
    } catch (error) {
      throw named(id, name, error);
    }
  };
  const later = async <T>(name: keyof typeof WORK, work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw named(id, name, error);
    }
  };
  const result = (attended: AttentionResult): AttentionResult => ({
    output: attended.output,
    logSumExp: attended.logSumExp,
    read: () => later('read', () => attended.read()),
  });
  return {
    get allocatedBytes() {
      return inner.allocatedBytes;
    },
    append: (job) => now('append', () => inner.append(job)),
    attend: (job) => now('attend', () => result(inner.attend(job))),
    settle: (step) => later('settle', () => inner.settle(step)),
    forget: (step) => {
      try {
        inner.forget(step);
      } catch {
        // Faults of a forgotten step are of no interest, and this must not hide the fault that ended it.
      }
    },
    readPages: (request) => later('readPages', () => inner.readPages(request)),
    writePages: (request, bytes) => later('writePages', () => inner.writePages(request, bytes)),
    dispose: () => now('dispose', () => inner.dispose()),
  };
}

function named(id: string, name: keyof typeof WORK, cause: unknown): LowbitKvError {
  if (LowbitKvError.is(cause)) return cause;
  const [what, next] = WORK[name];
  return new LowbitKvError('BACKEND_FAILED', {
    message: `backend ${formatValue(id)} failed ${what}`,
    value: String(cause),
    valid: 'a job without a fault',
    next,
    cause,
  });
}
