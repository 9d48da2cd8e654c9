/**
 * Something made in a context: freed once, never used afterwards.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import type { Context } from './context.js';

export abstract class Resource {
  readonly context: Context;
  readonly #what: string;
  readonly #own: boolean;
  #disposed = false;

  /** `what` names the kind in messages: `the stream`. What is not our `own` is never freed here. */
  protected constructor(context: Context, what: string, own = true) {
    this.context = context;
    this.#what = what;
    this.#own = own;
    if (own) context.own(this);
  }

  get disposed(): boolean {
    return this.#disposed;
  }

  /** Throws DEVICE_RESOURCE_STATE after `dispose`. */
  ensureUsable(): void {
    if (!this.#disposed) return;
    throw new LowbitKvError('DEVICE_RESOURCE_STATE', {
      message: `${this.#what} was disposed`,
      valid: 'a resource in use',
      next: 'Dispose it after its last use.',
    });
  }

  /** Frees it; again has no effect. In a lost context there is nothing to free. */
  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    if (!this.#own) return;
    this.context.disown(this);
    if (this.context.lost === undefined) this.context.run(() => this.release());
  }

  /** Runs once, with the context current, for resources of our own. */
  protected abstract release(): void;
}
