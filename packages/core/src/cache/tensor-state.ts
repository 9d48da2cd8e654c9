/**
 * Where the tokens of one sequence lie, for one page class: an ordered list of runs in pages.
 */
import type { Span } from '../backend.js';
import type { PageClass } from '../plan/plan.js';

/** A run of tokens in one page. Immutable. */
export interface Entry {
  readonly kind: 'packed' | 'window';
  readonly page: number;
  readonly slot: number;
  readonly count: number;
  readonly position: number;
}

/** Runs in rising position: sinks, packed blocks, f16 tail. Immutable. */
export interface TensorState {
  readonly entries: readonly Entry[];
  /** Statistics page, or -1. */
  readonly statistics: number;
}

export const EMPTY_STATE: TensorState = { entries: [], statistics: -1 };

export function endOf(entry: Entry): number {
  return entry.position + entry.count;
}

/** Index of the first entry of the f16 tail: the window entries at the end, sinks excluded. */
export function tailStart(state: TensorState, pageClass: Pick<PageClass, 'sinks'>): number {
  let index = state.entries.length;
  while (index > 0) {
    const entry = state.entries[index - 1] as Entry;
    if (entry.kind !== 'window' || entry.position < pageClass.sinks) break;
    index--;
  }
  return index;
}

export function toSpan(entry: Entry): Span {
  return {
    source: entry.kind,
    page: entry.page,
    slot: entry.slot,
    count: entry.count,
    position: entry.position,
  };
}

/** First position of the unbroken run of tokens that ends before `end`; `end` when the token before it is missing. */
export function heldFrom(
  runs: readonly { readonly position: number; readonly count: number }[],
  end: number,
): number {
  let first = end;
  for (let i = runs.length - 1; i >= 0; i--) {
    const { position, count } = runs[i] as { position: number; count: number };
    if (position >= first) continue;
    if (position + count < first) break;
    first = position;
  }
  return first;
}

/** Tokens held: visible, or not yet evicted. */
export function tokensHeld(state: TensorState): number {
  return state.entries.reduce((sum, entry) => sum + entry.count, 0);
}

/** The state cut to `length` tokens, and the entries that fell away entirely. */
export function truncateState(
  state: TensorState,
  length: number,
): { state: TensorState; dropped: Entry[] } {
  const kept: Entry[] = [];
  const dropped: Entry[] = [];
  for (const entry of state.entries) {
    if (entry.position >= length) dropped.push(entry);
    else kept.push(endOf(entry) <= length ? entry : { ...entry, count: length - entry.position });
  }
  return { state: { entries: kept, statistics: state.statistics }, dropped };
}
