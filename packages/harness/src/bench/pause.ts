/**
 * Lets signals and timers in: work whose promises are settled already would keep them out.
 */
import { setImmediate } from 'node:timers/promises';

/** Throws the reason of the signal when it has aborted. */
export async function pause(signal: AbortSignal | undefined): Promise<void> {
  await setImmediate();
  signal?.throwIfAborted();
}
