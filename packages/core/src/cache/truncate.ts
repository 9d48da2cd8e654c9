/**
 * Whether a sequence can be cut: a sliding window may have evicted what would be visible again.
 */
import { LowbitKvError } from '../errors.js';
import type { Plan } from '../plan/plan.js';
import type { Sequence } from './sequence.js';
import { endOf, heldFrom, type TensorState } from './tensor-state.js';

/** Throws TRUNCATE_INVALID beyond the length, or when tokens that the next query would see are gone. */
export function checkTruncation(plan: Plan, sequence: Sequence, length: number): void {
  if (length > sequence.length) {
    refuse(
      'a sequence cannot be truncated to more than its length',
      length,
      `0 to ${sequence.length}`,
      'Append tokens instead, or pass a smaller length.',
    );
  }
  for (const [index, pageClass] of plan.classes.entries()) {
    const window = pageClass.slidingWindow;
    if (window === null) continue;
    const { entries } = sequence.states[index] as TensorState;
    const oldest = Math.max(window.sinks, length - window.size);
    if (oldest >= length || heldFrom(entries, length) <= oldest) continue;
    refuse(
      'the sliding window has evicted tokens that would be visible',
      length,
      `0 to ${leadingRun(entries)}, or ${heldFrom(entries, sequence.length) + window.size} to ${sequence.length}`,
      'Keep more tokens, or create the cache with `rollback` as large as the tokens you take back.',
    );
  }
}

/** Tokens held from position 0 on without a gap. */
function leadingRun(entries: TensorState['entries']): number {
  let end = 0;
  for (const entry of entries) {
    if (entry.position !== end) break;
    end = endOf(entry);
  }
  return end;
}

function refuse(message: string, value: number, valid: string, next: string): never {
  throw new LowbitKvError('TRUNCATE_INVALID', { message, value, valid, next });
}
