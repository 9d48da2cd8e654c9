/**
 * A sequence of the cache beside its model, and the counts that prove what a run has tested.
 */
import type { Sequence } from '../cache/sequence.js';
import type { SequenceModel } from './sequence-model.js';

export interface Pair {
  sequence: Sequence;
  model: SequenceModel;
  /** The longest it ever was: what lies further back than `rollback` from there may be gone. */
  longest: number;
}

/** How often each thing really happened. */
export class Tally {
  readonly counts: Record<string, number> = {};

  add(name: string, count = 1): void {
    this.counts[name] = (this.counts[name] ?? 0) + count;
  }

  toString(): string {
    const counts = Object.entries(this.counts).sort(([a], [b]) => (a < b ? -1 : 1));
    return counts.map(([name, count]) => `${count} ${name}`).join(', ');
  }

  of(name: string): number {
    return this.counts[name] ?? 0;
  }
}
