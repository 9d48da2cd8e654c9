/**
 * Runs jobs one after another in the order they were enqueued and remembers the first fault.
 */
export class JobQueue {
  #tail: Promise<unknown> = Promise.resolve();
  #fault: { readonly error: unknown } | undefined;

  /** The result of the job; a fault is kept for `settle` too. */
  enqueue<T>(job: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(job);
    this.#tail = result.catch((error: unknown) => {
      this.#fault ??= { error };
    });
    return result;
  }

  /** Waits for everything enqueued so far; throws the first fault since the last call. */
  async settle(): Promise<void> {
    await this.#tail;
    const fault = this.#fault;
    this.#fault = undefined;
    if (fault !== undefined) throw fault.error;
  }
}
