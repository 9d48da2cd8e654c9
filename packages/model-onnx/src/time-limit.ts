/**
 * An end for programs that come with a model: its chat template, and the regular expressions of its tokenizer.
 */
import { type Context, createContext, Script } from 'node:vm';

const CALL = new Script('run()');

export class TimeLimit {
  /** Made once: it takes a millisecond. */
  readonly #context: Context = createContext({});

  /**
   * What `run` gives. Throws an error that `isTimeout` knows where it does not end within `milliseconds`; regular expressions that
   * backtrack without end are stopped as well.
   */
  within<T>(run: () => T, milliseconds: number): T {
    this.#context.run = run;
    return CALL.runInContext(this.#context, { timeout: milliseconds }) as T;
  }
}

export function isTimeout(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | null)?.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
}
