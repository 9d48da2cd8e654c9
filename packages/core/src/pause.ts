/** Long work on the one thread there is: others get a turn now and then, and it stops when a signal fires. */

/** Called between small pieces of work. Throws the reason of the signal. */
export type Pause = () => Promise<void>;

/** Longest time without a turn for others, in milliseconds: signals come from timers and from the user. */
const TURN = 25;

/** Without a signal nobody waits for a turn, and nothing is spent on one. */
export function pauseFor(signal: AbortSignal | undefined): Pause {
  if (signal === undefined) return async () => undefined;
  let last = performance.now();
  return async () => {
    signal.throwIfAborted();
    if (performance.now() - last < TURN) return;
    await new Promise<void>((resolve) => setTimeout(resolve, 0));
    last = performance.now();
    signal.throwIfAborted();
  };
}
