/**
 * How many pages one sequence of a page class holds, in closed form: the window law, page sizes and sliding windows.
 */
import { windowCounts } from '../cache/window.js';
import { LowbitKvError } from '../errors.js';
import { type PageClass, WINDOW_PAGE_TOKENS } from './plan.js';

export type SequenceFilling = 'at-once' | 'token-by-token';

export interface HeldTokens {
  readonly fullBlocks: number;
  /** Tokens of the packed block that is not full; 0 when there is none. */
  readonly lastBlock: number;
  readonly windowTokens: number;
  readonly windowPages: number;
  readonly statistics: 0 | 1;
}

/** Throws OPTION_INVALID for an unknown filling, and for `token-by-token` in a sliding window. */
export function heldTokens(
  pageClass: PageClass,
  length: number,
  rollback: number,
  filling: SequenceFilling,
): HeldTokens {
  checkFilling(pageClass, filling);
  const { sinks, packed, tail } = windowCounts(pageClass, length, rollback);
  const oldest = length - (pageClass.slidingWindow?.size ?? length) - rollback;
  const visible = pageClass.slidingWindow?.sinks ?? 0;
  const kept = (start: number, count: number, page: number, evictBefore = oldest) =>
    survivors({ start, count, page, oldest: evictBefore, visible });
  // The tail of a packed tensor is never evicted: it leaves by being packed.
  const tailEvictedBefore = pageClass.flush === 0 ? oldest : 0;
  const blocks = kept(sinks, packed, pageClass.blockTokens);
  const first = filling === 'at-once' ? 0 : firstTailSlot(pageClass, length, rollback);
  const runs = [
    kept(0, sinks, WINDOW_PAGE_TOKENS),
    first === 0
      ? kept(sinks + packed, tail, WINDOW_PAGE_TOKENS, tailEvictedBefore)
      : { full: Math.ceil((first + tail) / WINDOW_PAGE_TOKENS), rest: 0, tokens: tail },
  ];
  const { statisticsTokens } = pageClass;
  return {
    fullBlocks: blocks.full,
    lastBlock: blocks.rest,
    windowTokens: runs.reduce((sum, { tokens }) => sum + tokens, 0),
    windowPages: runs.reduce((sum, { full, rest }) => sum + full + (rest > 0 ? 1 : 0), 0),
    statistics: statisticsTokens > 0 && length >= pageClass.sinks + statisticsTokens ? 1 : 0,
  };
}

interface Run {
  readonly start: number;
  readonly count: number;
  /** Tokens of a page. */
  readonly page: number;
  /** Pages that end here or before are evicted ... */
  readonly oldest: number;
  /** ... unless they begin before this position. */
  readonly visible: number;
}

/** Full pages of a run, and tokens of its last short page, that a sliding window leaves. */
function survivors({ start, count, page, oldest, visible }: Run) {
  if (count === 0) return { full: 0, rest: 0, tokens: 0 };
  const pages = Math.floor(count / page);
  const partial = count % page;
  const keptInFront = Math.max(Math.ceil((visible - start) / page), 0);
  const evicted = Math.min(Math.max(Math.floor((oldest - start) / page), 0), pages);
  const full = pages - Math.max(evicted - Math.min(keptInFront, pages), 0);
  const rest = pages < keptInFront || start + count > oldest ? partial : 0;
  return { full, rest, tokens: full * page + rest };
}

/**
 * Slot of the oldest tail token when tokens came one by one: pages fill on from the end of the sinks, except that a tail
 * which a packing step empties down to the new token begins a fresh page.
 */
function firstTailSlot(pageClass: PageClass, length: number, rollback: number): number {
  const { sinks, flush, statisticsTokens } = pageClass;
  const { packed } = windowCounts(pageClass, length, rollback);
  if (packed === 0) return 0;
  const kept = pageClass.recent + rollback;
  const firstLength = sinks + Math.max(kept + flush, statisticsTokens);
  const atFirst = windowCounts(pageClass, firstLength, rollback);
  const left = packed === atFirst.packed ? atFirst.tail : kept;
  return left > 1 ? packed % WINDOW_PAGE_TOKENS : 0;
}

function checkFilling({ slidingWindow }: PageClass, filling: SequenceFilling): void {
  const sliding = slidingWindow !== null;
  if (filling === 'at-once' || (filling === 'token-by-token' && !sliding)) return;
  throw new LowbitKvError('OPTION_INVALID', {
    message: sliding
      ? 'the pages of a sliding window filled token by token depend on every earlier step'
      : 'filling is not valid',
    value: filling,
    valid: sliding ? ['at-once'] : ['at-once', 'token-by-token'],
    next: 'Correct the option.',
    where: { field: 'filling' },
  });
}
