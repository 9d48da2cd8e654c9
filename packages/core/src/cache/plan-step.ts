/**
 * Bookkeeping of one step for one page class and one sequence: which tokens are written where, which blocks pack from
 * what, which pages are copied, what attention sees, and what the sequence looks like afterwards.
 */
import type { PackWork, Span } from '../backend.js';
import { type PageClass, WINDOW_PAGE_TOKENS } from '../plan/plan.js';
import type { HeldPage, Reservation } from './page-pool.js';
import { type Entry, endOf, type TensorState, tailStart, toSpan } from './tensor-state.js';
import { packableTokens } from './window.js';

export interface StepRequest {
  readonly pageClass: PageClass;
  readonly state: TensorState;
  /** Tokens before the step. */
  readonly length: number;
  readonly newTokens: number;
  /** Row of the first new token in the input tensors. */
  readonly firstRow: number;
  readonly rollback: number;
  readonly pages: Reservation;
}

/** Work in the form a backend executes, but growing. */
export interface WorkList {
  readonly copies: { kind: 'packed' | 'window'; from: number; to: number; count: number }[];
  readonly statistics: { page: number; sources: Span[] }[];
  readonly writes: { row: number; page: number; slot: number; count: number }[];
  readonly packs: PackWork[];
}

export interface StepPlan {
  readonly next: TensorState;
  /** What the attention of this step sees. */
  readonly view: { readonly spans: readonly Span[]; readonly statistics: number };
  /** Pages the sequence lets go of at commit. */
  readonly released: readonly HeldPage[];
}

/** Plans one tensor of one sequence; work is added to `work`. */
export function planStep(request: StepRequest, work: WorkList): StepPlan {
  const { pageClass, state, length, newTokens, firstRow } = request;
  if (newTokens === 0) {
    const { entries, statistics } = state;
    return { next: state, view: { spans: entries.map(toSpan), statistics }, released: [] };
  }
  const newLength = length + newTokens;
  const released: HeldPage[] = [];
  const packs = pageClass.flush > 0;
  const firstTail = packs ? tailStart(state, pageClass) : state.entries.length;
  const entries = state.entries.slice(0, firstTail);
  const oldTail = state.entries.slice(firstTail);

  const newSinks = packs ? Math.min(Math.max(pageClass.sinks - length, 0), newTokens) : 0;
  const builder = new EntryBuilder(request, work, released);
  builder.append(entries, { row: firstRow, position: length, count: newSinks });

  const input =
    newTokens > newSinks
      ? [inputSpan(firstRow + newSinks, newTokens - newSinks, length + newSinks)]
      : [];
  const unpacked = [...oldTail.map(toSpan), ...input];
  const statistics = takeStatistics(request, newLength, unpacked, work);

  const tail = unpacked.reduce((sum, span) => sum + span.count, 0);
  const packed = packableTokens(pageClass, tail, newLength, request.rollback);
  const toPack = splitSpans(unpacked, packed);
  builder.pack(entries, toPack.head, statistics, newLength);

  const remaining = toPack.rest.filter((span) => span.source === 'window');
  const kept = new Set(remaining.map(({ page }) => page));
  for (const { page } of oldTail) if (!kept.has(page)) released.push({ kind: 'window', page });
  const firstKept = entries.length;
  for (const { source: _, ...run } of remaining) entries.push({ kind: 'window', ...run });
  const fresh = toPack.rest.find((span) => span.source === 'input');
  if (fresh !== undefined) {
    builder.append(
      entries,
      { row: fresh.slot, position: fresh.position, count: fresh.count },
      packs ? firstKept : 0,
    );
  }

  // Attention before packing still sees the old tail and the input; after it, the state as it will be.
  const spans =
    pageClass.packing === 'before-attention'
      ? entries.map(toSpan)
      : [...state.entries.map(toSpan), inputSpan(firstRow, newTokens, length)];
  const seen = evict(entries, request, newLength, released);
  return { next: { entries: seen, statistics }, view: { spans, statistics }, released };
}

function inputSpan(row: number, count: number, position: number): Span {
  return { source: 'input', page: -1, slot: row, count, position };
}

/** The statistics page of the sequence; planned in the step in which the last token it needs arrives. */
function takeStatistics(
  request: StepRequest,
  newLength: number,
  unpacked: readonly Span[],
  work: WorkList,
): number {
  const { pageClass, state, pages } = request;
  const { statisticsTokens, sinks } = pageClass;
  if (statisticsTokens === 0 || state.statistics >= 0 || newLength < sinks + statisticsTokens)
    return state.statistics;
  const page = pages.take('statistics');
  work.statistics.push({ page, sources: splitSpans(unpacked, statisticsTokens).head });
  return page;
}

/**
 * Drops runs that no later query can see, and trims none: pages go as a whole. The f16 tail of a packed tensor stays
 * until it is packed, so that what is packed does not depend on how tokens were split into steps.
 */
function evict(
  entries: readonly Entry[],
  request: StepRequest,
  newLength: number,
  released: HeldPage[],
): Entry[] {
  const { slidingWindow: window, flush, sinks } = request.pageClass;
  if (window === null) return entries as Entry[];
  const oldest = newLength - window.size - request.rollback;
  return entries.filter((entry) => {
    const inTail = flush > 0 && entry.kind === 'window' && entry.position >= sinks;
    const gone = !inTail && endOf(entry) <= oldest && entry.position >= window.sinks;
    if (gone) released.push({ kind: entry.kind, page: entry.page });
    return !gone;
  });
}

/** The first `count` tokens of spans, and the rest. */
function splitSpans(spans: readonly Span[], count: number): { head: Span[]; rest: Span[] } {
  const head: Span[] = [];
  const rest: Span[] = [];
  let left = count;
  for (const span of spans) {
    const taken = Math.min(left, span.count);
    left -= taken;
    if (taken > 0) head.push({ ...span, count: taken });
    if (taken < span.count) {
      rest.push({
        ...span,
        slot: span.slot + taken,
        count: span.count - taken,
        position: span.position + taken,
      });
    }
  }
  return { head, rest };
}

interface NewRows {
  readonly row: number;
  readonly position: number;
  readonly count: number;
}

/** Extends the last page of an entry list, copying it first when another sequence shares it. */
class EntryBuilder {
  readonly #request: StepRequest;
  readonly #work: WorkList;
  readonly #released: HeldPage[];

  constructor(request: StepRequest, work: WorkList, released: HeldPage[]) {
    this.#request = request;
    this.#work = work;
    this.#released = released;
  }

  /** Writes new rows into window pages, going on in the last entry when it is at index `from` or later. */
  append(entries: Entry[], rows: NewRows, from = 0): void {
    let { row, position, count } = rows;
    while (count > 0) {
      const last = entries.length > from ? entries.at(-1) : undefined;
      const open =
        last !== undefined &&
        last.kind === 'window' &&
        endOf(last) === position &&
        last.slot + last.count < WINDOW_PAGE_TOKENS;
      const target = open
        ? this.#writable(last)
        : {
            kind: 'window' as const,
            page: this.#request.pages.take('window'),
            slot: 0,
            count: 0,
            position,
          };
      const slot = target.slot + target.count;
      const taken = Math.min(count, WINDOW_PAGE_TOKENS - slot);
      if (open) entries.pop();
      entries.push({ ...target, count: target.count + taken });
      this.#work.writes.push({ row, page: target.page, slot, count: taken });
      row += taken;
      position += taken;
      count -= taken;
    }
  }

  /** Encodes `sources` into packed pages, going on in the last one where its groups allow. */
  pack(entries: Entry[], sources: readonly Span[], statistics: number, newLength: number): void {
    const { blockTokens, tokensPerGroup } = this.#request.pageClass;
    let rest = sources as Span[];
    while (rest.length > 0) {
      const position = (rest[0] as Span).position;
      const last = entries.at(-1);
      const open =
        last !== undefined &&
        last.kind === 'packed' &&
        endOf(last) === position &&
        last.count < blockTokens &&
        last.count % tokensPerGroup === 0;
      const room = blockTokens - (open ? last.count : 0);
      const { head, rest: later } = splitSpans(rest, room);
      const count = head.reduce((sum, span) => sum + span.count, 0);
      rest = later;
      if (this.#neverSeen(position, count, newLength)) continue;
      const target = open
        ? this.#writable(last)
        : {
            kind: 'packed' as const,
            page: this.#request.pages.take('packed'),
            slot: 0,
            count: 0,
            position,
          };
      if (open) entries.pop();
      entries.push({ ...target, count: target.count + count });
      this.#work.packs.push({
        page: target.page,
        slot: target.count,
        count,
        sources: head,
        statistics,
      });
    }
  }

  /** In a sliding window, tokens that no query after this step can see need not be packed at all. */
  #neverSeen(position: number, count: number, newLength: number): boolean {
    const { slidingWindow: window, packing } = this.#request.pageClass;
    if (window === null || packing === 'before-attention') return false;
    return (
      position >= window.sinks &&
      position + count <= newLength - window.size - this.#request.rollback
    );
  }

  #writable(entry: Entry): Entry {
    const { pages } = this.#request;
    if (!pages.isShared(entry.kind, entry.page)) return entry;
    const page = pages.take(entry.kind);
    this.#work.copies.push({
      kind: entry.kind,
      from: entry.page,
      to: page,
      count: entry.slot + entry.count,
    });
    this.#released.push({ kind: entry.kind, page: entry.page });
    return { ...entry, page };
  }
}
