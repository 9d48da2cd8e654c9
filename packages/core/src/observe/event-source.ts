/**
 * Tells an observer of calls. Whatever the observer does, the call runs as it would without one.
 */
import { LowbitKvError } from '../errors.js';
import type { BackendCall, BackendEvent, FaultSummary, InputsOf, OutputsOf } from './events.js';

export interface BackendObserver {
  /**
   * Called in the order of what happens, in the middle of the work: it has to be quick and to leave the cache alone. What it
   * throws, or the failure of a promise it returns, goes to `onError` and nowhere else.
   */
  readonly onEvent: (event: BackendEvent) => unknown;
  /** Whether host tensors are read for their least, largest and typical value: a pass over each. Default false. */
  readonly values?: boolean;
  /** Default: the first error becomes a warning on the console. */
  readonly onError?: (error: unknown) => void;
}

/** A call: what it is, and what its events say. */
export interface Call<Type extends BackendCall, Result> {
  readonly type: Type;
  readonly store: number | null;
  readonly inputs: () => InputsOf<Type>;
  readonly outputs: (result: Result) => OutputsOf<Type>;
}

interface Begun<Result> {
  readonly number: number;
  end(result: Result): void;
  fault(error: unknown): void;
}

export class EventSource {
  /** Id of the backend. */
  readonly #backend: string;
  readonly #observer: BackendObserver;
  #calls = 0;
  #warned = false;

  constructor(backend: string, observer: BackendObserver) {
    this.#backend = backend;
    this.#observer = observer;
  }

  get withValues(): boolean {
    return this.#observer.values ?? false;
  }

  /** `work` gets the number of the call. */
  now<Type extends BackendCall, Result>(
    call: Call<Type, Result>,
    work: (number: number) => Result,
  ): Result {
    const begun = this.#begin(call);
    let result: Result;
    try {
      result = work(begun.number);
    } catch (error) {
      begun.fault(error);
      throw error;
    }
    begun.end(result);
    return result;
  }

  async later<Type extends BackendCall, Result>(
    call: Call<Type, Result>,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const begun = this.#begin(call);
    let result: Result;
    try {
      result = await work();
    } catch (error) {
      begun.fault(error);
      throw error;
    }
    begun.end(result);
    return result;
  }

  #begin<Type extends BackendCall, Result>(call: Call<Type, Result>): Begun<Result> {
    const { type, store, outputs } = call;
    const number = ++this.#calls;
    let inputs: InputsOf<Type> | undefined;
    const tell = (phase: () => object) =>
      this.#tell(() => {
        // Once: both events say what the call was given, not what became of it.
        inputs ??= call.inputs();
        const common = { type, backend: this.#backend, store, call: number };
        return { ...common, ...inputs, ...phase() } as unknown as BackendEvent;
      });
    tell(() => ({ phase: 'start' }));
    const begin = performance.now();
    const told = (phase: 'end' | 'fault', fields: () => object) => {
      const milliseconds = performance.now() - begin;
      tell(() => ({ phase, milliseconds, ...fields() }));
    };
    return {
      number,
      end: (result) => told('end', () => outputs(result)),
      fault: (error) => told('fault', () => ({ error: summarizeFault(error) })),
    };
  }

  #tell(event: () => BackendEvent): void {
    try {
      const told = this.#observer.onEvent(event());
      if (isThenable(told)) told.then(undefined, (error: unknown) => this.#failed(error));
    } catch (error) {
      this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    const { onError } = this.#observer;
    if (onError === undefined) {
      if (!this.#warned) console.warn('lowbit-kv: an observer of a backend failed:', error);
      this.#warned = true;
      return;
    }
    try {
      onError(error);
    } catch {
      // It was told; there is nobody left to tell.
    }
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as Partial<PromiseLike<unknown>> | undefined)?.then === 'function';
}

function summarizeFault(error: unknown): FaultSummary {
  if (LowbitKvError.is(error)) return { code: error.code, message: error.message };
  return { code: null, message: error instanceof Error ? error.message : String(error) };
}
