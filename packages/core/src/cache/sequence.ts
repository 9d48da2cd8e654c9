/**
 * A sequence: its length and, per page class, where its tokens lie. Only the cache changes it.
 */
import { LowbitKvError } from '../errors.js';
import { EMPTY_STATE, type TensorState } from './tensor-state.js';

export class Sequence {
  /** Unique in its cache. */
  readonly id: number;
  /** @internal */
  states: readonly TensorState[];
  /** @internal */
  currentLength = 0;
  /** @internal */
  inStep = false;
  /** @internal */
  disposed = false;

  /** @internal Made by `cache.createSequence`. */
  constructor(id: number, classes: number) {
    this.id = id;
    this.states = Array.from({ length: classes }, () => EMPTY_STATE);
  }

  /** Committed tokens. */
  get length(): number {
    return this.currentLength;
  }

  /** @internal Throws SEQUENCE_STATE when the sequence is disposed or in an open step. */
  check(action: string): void {
    if (!this.disposed && !this.inStep) return;
    throw new LowbitKvError('SEQUENCE_STATE', {
      message: `cannot ${action}: the sequence ${this.disposed ? 'was disposed' : 'is in an open step'}`,
      value: this.id,
      valid: this.disposed ? 'a sequence that is alive' : 'a sequence that is in no open step',
      next: this.disposed
        ? 'Create or fork another sequence.'
        : 'Commit or abandon the step first.',
    });
  }
}
