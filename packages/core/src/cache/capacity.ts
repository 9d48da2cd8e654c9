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
  // With more than one sequence a part-filled page can be shared, and is copied before it is written.
  const copies = sequences > 1 ? 1 : 0;
  const perSequence = (pages: number) => sequences * pages;
  if (pageClass.flush === 0) {
    const window = windowPages(tokens) + perSequence(1 + copies);
    return { packed: 0, window, statistics: 0 };
  }
  const { sinks, recent, flush, statisticsTokens, blockTokens } = pageClass;
  const sinkPages = sinks === 0 ? 0 : windowPages(sinks) + copies;
  const tail = Math.max(recent + flush + rollback, statisticsTokens) - 1;
  // A step may fill a whole new tail while the old one, which may begin inside a page, is still held.
  const tailPages =
    tail === 0 ? 0 : windowPages(tail + WINDOW_PAGE_TOKENS - 1) + windowPages(tail) + copies;
  const window = perSequence(sinkPages + tailPages);
  // Blocks of a sequence may end short; so may one that a truncation cut.
  const packed = Math.ceil(tokens / blockTokens) + perSequence(1 + copies);
  return { packed, window, statistics: statisticsTokens > 0 ? sequences : 0 };
}
