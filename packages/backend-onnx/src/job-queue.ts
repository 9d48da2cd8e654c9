/**
 * Runs jobs one after another in the order they were enqueued and keeps the first fault of each step.
 */
export class JobQueue {
  #tail: Promise<unknown> = Promise.resolve();
  readonly #faults = new Map<number, unknown>();
  /** Steps that were abandoned while jobs of theirs were still waiting. */
  readonly #forgotten = new Set<number>();

  /** The result of the job; a fault of a step is kept for `settle` too. */
  enqueue<T>(step: number | null, job: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(job);
    this.#tail = result.catch((error: unknown) => {
      if (step === null || this.#forgotten.has(step) || this.#faults.has(step)) return;
      this.#faults.set(step, error);
    });
    return result;
  }

  /** Waits for everything enqueued so far; throws the first fault of the step. */
  async settle(step: number): Promise<void> {
    await this.#tail;
    if (!this.#faults.has(step)) return;
    const fault = this.#faults.get(step);
    this.#faults.delete(step);
    throw fault;
  }

  /** Drops what the step has failed with, or will. */
  forget(step: number): void {
    this.#faults.delete(step);
    this.#forgotten.add(step);
    this.#tail = this.#tail.then(() => this.#forgotten.delete(step));
  }
}
