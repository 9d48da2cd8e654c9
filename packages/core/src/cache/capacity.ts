/**
 * How many pages a cache needs: everything a step can ask for is reserved up front.
 */
import type { PageCounts } from '../backend.js';
import { type PageClass, type Plan, WINDOW_PAGE_TOKENS } from '../plan/plan.js';

export interface CacheCapacity {
  /** Tokens over all sequences. */
  readonly tokens: number;
  /** Sequences alive at once, forks included. Default 1. */
  readonly sequences?: number;
}

/** Pages per class for a capacity. */
export function pageCounts(
  plan: Plan,
  { tokens, sequences }: Required<CacheCapacity>,
  rollback: number,
): PageCounts[] {
  return plan.classes.map((pageClass) => classPages(pageClass, tokens, sequences, rollback));
}

function classPages(
  pageClass: PageClass,
  tokens: number,
  sequences: number,
  rollback: number,
): PageCounts {
  const windowPages = (count: number) => Math.ceil(count / WINDOW_PAGE_TOKENS);
  if (pageClass.flush === 0) {
    // One open page per sequence, and one more to copy a shared page into.
    return { packed: 0, window: windowPages(tokens) + 2 * sequences, statistics: 0 };
  }
  const { sinks, recent, flush, statisticsTokens, blockTokens } = pageClass;
  const tail = Math.max(recent + flush + rollback, statisticsTokens + flush);
  // A step may fill a whole new tail while the old one is still held.
  const window = sequences * (windowPages(sinks) + 1 + 2 * (windowPages(tail) + 1));
  const packed = Math.ceil(tokens / blockTokens) + 2 * sequences;
  return { packed, window, statistics: statisticsTokens > 0 ? sequences : 0 };
}
