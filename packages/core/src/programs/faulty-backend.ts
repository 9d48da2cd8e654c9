/**
 * A backend that fails at the call that it is told to: before or after the work of the call was done.
 */
import type { AttentionResult, Backend, BlockStore } from '../backend.js';
import { fail } from '../contract/check.js';
import { formatValue, LowbitKvError } from '../errors.js';

/** Before or after the work of the call was done; `lost`: so does every later call. */
export type FaultKind = 'before' | 'after' | 'lost';

export class FaultyBackend {
  readonly backend: Backend;
  /** Calls so far that can fail. */
  calls = 0;
  /** Faults that were thrown. */
  injected = 0;
  /** Stores that are not disposed. */
  alive = 0;
  #at = 0;
  #kind: FaultKind = 'before';
  #errors = new WeakSet<object>();

  constructor(inner: Backend) {
    this.backend = {
      ...inner,
      id: inner.id,
      probe: () => inner.probe(),
      supports: (plan) => inner.supports(plan),
      createStore: async (plan, options) => {
        // Not after it: nobody would have the store to dispose.
        if (this.#next() !== null) throw this.#fault('createStore');
        const store = await inner.createStore(plan, options);
        this.alive++;
        return this.#wrapped(store);
      },
    };
  }

  /** The call after `calls - 1` others from now on fails. */
  arm(calls: number, kind: FaultKind): void {
    this.#at = this.calls + calls;
    this.#kind = kind;
  }

  /** Whether an error is one that a cache made of a fault. Throws a ContractFailure when it says too little. */
  isFault(error: unknown): boolean {
    const cause = error instanceof Error ? error.cause : undefined;
    if (typeof error === 'object' && error !== null && this.#errors.has(error))
      fail(`a fault was passed on as it is: ${String(error)}`);
    if (!LowbitKvError.is(error) || typeof cause !== 'object' || cause === null) return false;
    if (!this.#errors.has(cause)) return false;
    if (
      error.code !== 'BACKEND_FAILED' ||
      error.next === '' ||
      !error.message.includes(this.backend.id)
    )
      fail(`an error that says too little of a fault: ${formatValue(error.message)}`);
    return true;
  }

  #wrapped(inner: BlockStore): BlockStore {
    let disposed = false;
    return {
      get allocatedBytes() {
        return inner.allocatedBytes;
      },
      append: (job) => this.#now('append', () => inner.append(job)),
      attend: (job) => this.#now('attend', () => this.#result(inner.attend(job))),
      settle: (step) => this.#later('settle', () => inner.settle(step)),
      forget: (step) => this.#now('forget', () => inner.forget(step)),
      readPages: (request) => this.#later('readPages', () => inner.readPages(request)),
      writePages: (request, bytes) =>
        this.#later('writePages', () => inner.writePages(request, bytes)),
      dispose: () => {
        if (!disposed) this.alive--;
        disposed = true;
        inner.dispose();
      },
    };
  }

  #result(inner: AttentionResult): AttentionResult {
    return {
      output: inner.output,
      logSumExp: inner.logSumExp,
      read: () => this.#later('read', () => inner.read()),
    };
  }

  #now<T>(name: string, work: () => T): T {
    const when = this.#next();
    if (when === 'before') throw this.#fault(name);
    const result = work();
    if (when === 'after') throw this.#fault(name);
    return result;
  }

  async #later<T>(name: string, work: () => Promise<T>): Promise<T> {
    const when = this.#next();
    if (when === 'before') throw this.#fault(name);
    const result = await work();
    if (when === 'after') throw this.#fault(name);
    return result;
  }

  #next(): 'before' | 'after' | null {
    this.calls++;
    if (this.#at === 0 || this.calls < this.#at) return null;
    if (this.#kind === 'lost') return 'before';
    return this.calls === this.#at ? this.#kind : null;
  }

  #fault(name: string): Error {
    this.injected++;
    const error =
      name === 'createStore'
        ? new RangeError('allocation failed')
        : new Error(name === 'read' || name === 'readPages' ? 'read-back failed' : 'device lost');
    this.#errors.add(error);
    return error;
  }
}
