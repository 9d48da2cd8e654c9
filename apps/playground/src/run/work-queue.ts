/** One piece of work at a time, in order: work that runs beside other work cannot be timed. */

export class WorkQueue {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs `work` after what was added before. Never settles when the signal was aborted by then. */
  add<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#last = this.#last.then(async () => {
        if (signal.aborted) return;
        await work().then(resolve, reject);
      });
    });
  }
}
