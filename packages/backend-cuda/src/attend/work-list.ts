/**
 * What a launch of attention meets: pages, tokens outside of pages, and items, each a share of the pages and tokens of some query
 * tokens. Tables are as kernels/decode.cuh and kernels/rows.cuh read them.
 *
 * Items are of one query token, with tables of its own: what it does not see is in none of them, so kernels mask nothing. Or they
 * are of a block of query tokens of a sequence: tables are those of the last one, and kernels hide what the others do not see.
 */
import {
  type AttendSequence,
  type LayerGeometry,
  LowbitKvError,
  type Span,
  WINDOW_PAGE_TOKENS,
} from '@lowbit-kv/core';
import { balance, PAGE_COST, REST_COST_TOKENS } from './balance.js';
import { visitCommonRuns } from './common-runs.js';
import { ITEM, PAGE_ENTRY, PAGE_TOKENS, REST_ENTRY, REST_ROWS, REST_SOURCES } from './structs.js';
import { WordTable } from './word-table.js';

/** How a layer meets several query tokens of a sequence at once. */
export interface QueryBlocks {
  /** Query tokens of an item at most. */
  readonly queries: number;
  /** What an item leaves takes the room of so many items of one query token. */
  readonly room: number;
  /** Items that run at once. */
  readonly slots: number;
  /** They also meet jobs of one query token of each sequence, whose heads no other kernel meets together. */
  readonly areForOne: boolean;
}

export interface WorkListOptions {
  /** Items that run at once; see `slotsOf`. */
  readonly slots: number;
  /**
   * Where there are any, fewer query tokens before more, jobs with several query tokens of a sequence, or all, are met in blocks. There
   * is no sliding window then.
   */
  readonly blocks?: readonly QueryBlocks[] | undefined;
  /** Most items; query tokens, or blocks of them, are no more. See `reserve`. */
  readonly capacity: number;
  readonly slidingWindow: LayerGeometry['slidingWindow'];
  /** Tokens of a packed page. Default: those of pages in fragment order. */
  readonly pageTokens?: { readonly key: number; readonly value: number };
  /** Most tokens of a page entry: pages of more are that many, one after another. Default: any number. */
  readonly entryTokens?: number;
}

/** Items that run at once: CTAs that the card holds, over the kv heads that each item is launched for. */
export function slotsOf(residentBlocks: number, kvHeads: number): number {
  return Math.max(1, Math.floor(residentBlocks / kvHeads));
}

/** Items that leave room for balance, for so many query tokens of any lengths. */
export function itemCapacity(queries: number, slots: number): number {
  return queries <= 1 ? slots : 4 * Math.max(queries, slots);
}

/**
 * Which blocks a job is met in: the smallest that have room for the query tokens of any sequence, or the largest; undefined where
 * every query token is met alone.
 */
export function chooseBlocks(
  sequences: readonly AttendSequence[],
  blocks: readonly QueryBlocks[] = [],
): number | undefined {
  const most = sequences.reduce((largest, { queries }) => Math.max(largest, queries), 0);
  if (blocks.length === 0 || (most <= 1 && !blocks[0]!.areForOne)) return undefined;
  const fitting = blocks.findIndex(({ queries }) => most <= queries);
  return fitting < 0 ? blocks.length - 1 : fitting;
}

/** Positions `first` to `end - 1`. */
type Range = readonly [first: number, end: number];

export class WorkList {
  readonly pages = new WordTable(PAGE_ENTRY.bytes);
  readonly rests = new WordTable(REST_ENTRY.bytes);
  readonly items = new WordTable(ITEM.bytes);
  readonly options: Omit<WorkListOptions, 'capacity'>;
  #capacity: number;
  #version = 0;
  #queries = 0;
  #blockKind: number | undefined;
  #isFixed = false;
  #needsInput = false;
  #known: readonly AttendSequence[] = [];
  /** What the last query token of a sequence sees, while its rows are placed. */
  #shared: { readonly sequence: AttendSequence; readonly place: Place } | undefined;

  constructor({ capacity, ...options }: WorkListOptions) {
    this.options = options;
    this.#capacity = capacity;
  }

  get capacity(): number {
    return this.#capacity;
  }

  /** From now on there may be so many items, or as many as before. */
  reserve(capacity: number): void {
    this.#capacity = Math.max(capacity, this.#capacity);
  }

  /** From now on jobs are met as the last one, or as the next one when there was none: in which blocks, or in none. */
  fix(): void {
    this.#isFixed = true;
  }

  /** Of `blocks`, those that items are of; undefined where items are of one query token. */
  get blockKind(): number | undefined {
    return this.#blockKind;
  }

  get #blocks(): QueryBlocks | undefined {
    return this.#blockKind === undefined ? undefined : this.options.blocks?.[this.#blockKind];
  }

  /** Another number whenever the tables are. */
  get version(): number {
    return this.#version;
  }

  /** Query tokens of the job: the rows of its queries and results. */
  get queries(): number {
    return this.#queries;
  }

  /** Whether a token lies in the input of the step. */
  get needsInput(): boolean {
    return this.#needsInput;
  }

  /**
   * Fills the tables. Layers of a step show the same views: nothing is done for those that come with the views of the call
   * before. `room`: items that there is room for elsewhere. Throws OPTION_INVALID for more query tokens than there may be items.
   */
  update(sequences: readonly AttendSequence[], room = Number.POSITIVE_INFINITY): void {
    if (this.#version > 0 && isSame(this.#known, sequences)) return;
    const capacity = Math.min(room, this.capacity);
    if (!this.#isFixed || this.#version === 0)
      this.#blockKind = chooseBlocks(sequences, this.options.blocks);
    const { queries: most, slots } = this.#blocks ?? { queries: 1, slots: this.options.slots };
    const rows = rowsOf(sequences, most);
    if (rows.length > capacity) {
      throw new LowbitKvError('OPTION_INVALID', {
        message: 'there are more query tokens, or blocks of them, than a launch has items',
        value: rows.length,
        valid: `at most ${capacity}`,
        next: 'Attend in several rounds, or ask for a larger capacity.',
      });
    }
    this.pages.clear();
    this.rests.clear();
    this.items.clear();
    this.#needsInput = false;
    this.#shared = undefined;
    const places = rows.map((row) => this.#placeRow(row));
    const costs = Int32Array.from(
      places,
      ({ pages, rests }) => PAGE_COST * pages + Math.ceil(rests / REST_COST_TOKENS),
    );
    const { counts, order } = balance(costs, slots, capacity);
    for (const index of order)
      this.#addItems(rows[index] as Row, places[index] as Place, counts[index] as number);
    this.#known = [...sequences];
    this.#queries = rows.reduce((most, { row, queries }) => Math.max(most, row + queries), 0);
    this.#version++;
  }

  /** Rows of a sequence come one after another. The later ones see what the first ones see, and share it. */
  #placeRow({ sequence, position: first, queries }: Row): Place {
    const position = first + queries - 1;
    const ranges = visibleRanges(position, this.options.slidingWindow);
    if (sequence.queries > 1 && ranges.length === 1) {
      if (this.#shared?.sequence !== sequence) {
        const last = visibleRanges(sequence.length - 1, this.options.slidingWindow);
        this.#shared =
          last.length === 1 ? { sequence, place: this.#placeRanges(sequence, last) } : undefined;
      }
      const shared = this.#shared && this.#upTo(this.#shared.place, position);
      if (shared !== undefined) return shared;
    }
    return this.#placeRanges(sequence, ranges);
  }

  /**
   * The part of a place up to a position, or undefined where it is not one run of each table. Of blocks it may have more: kernels
   * hide it.
   */
  #upTo(place: Place, position: number): Place | undefined {
    const { firstPage, firstRest, packedRests } = place;
    const pages = countUpTo(this.pages, firstPage, place.pages, position);
    if (pages > 0 && this.#blockKind === undefined) {
      const { words, structWords } = this.pages;
      const at = (firstPage + pages - 1) * structWords;
      const end = (words[at + 2] as number) + ((words[at + 3] as number) >>> 16);
      if (end > position + 1) return undefined;
    }
    const packed = countUpTo(this.rests, firstRest, packedRests, position);
    const others = place.rests - packedRests;
    const later = countUpTo(this.rests, firstRest + packedRests, others, position);
    const isOneRun = packed === packedRests || later === 0;
    if (!isOneRun && this.#blockKind === undefined) return undefined;
    const shown = isOneRun ? packed : packedRests;
    return { firstPage, pages, firstRest, rests: shown + later, packedRests: shown };
  }

  #placeRanges(sequence: AttendSequence, ranges: readonly Range[]): Place {
    const firstPage = this.pages.length;
    const firstRest = this.rests.length;
    this.#place(sequence, ranges, true);
    const packedRests = this.rests.length - firstRest;
    this.#place(sequence, ranges, false);
    const pages = this.pages.length - firstPage;
    const rests = this.rests.length - firstRest;
    return { firstPage, pages, firstRest, rests, packedRests };
  }

  /** Runs that a tensor has on packed pages, or the others. */
  #place({ key, value }: AttendSequence, ranges: readonly Range[], isPacked: boolean): void {
    visitCommonRuns(key.spans, value.spans, (position, count, keys, values) => {
      if ((keys.source === 'packed' || values.source === 'packed') !== isPacked) return;
      for (const [from, to] of ranges) {
        const first = Math.max(position, from);
        const end = Math.min(position + count, to);
        if (first < end) this.#addRun(first, end - first, keys, values);
      }
    });
  }

  #addRun(position: number, count: number, key: Span, value: Span): void {
    const keySlot = key.slot + position - key.position;
    const valueSlot = value.slot + position - value.position;
    if (key.source === 'packed' && value.source === 'packed') {
      const keys = { page: key.page, slot: keySlot };
      if (this.#addPages(position, count, keys, { page: value.page, slot: valueSlot })) return;
    }
    if (key.source === 'input' || value.source === 'input') this.#needsInput = true;
    const { pageTokens } = this.options;
    const keyRow = rowOf(key, keySlot, pageTokens?.key);
    const valueRow = rowOf(value, valueSlot, pageTokens?.value);
    for (let token = 0; token < count; token++) {
      const at = this.rests.add();
      const { words } = this.rests;
      words[at] = keyRow + token;
      words[at + 1] = valueRow + token;
      words[at + 2] = position + token;
      words[at + 3] = 0;
    }
  }

  /** Adds a run that both tensors have on packed pages, unless it is in different slots of them. */
  #addPages(position: number, count: number, key: Slot, value: Slot): boolean {
    const { entryTokens, pageTokens } = this.options;
    if (entryTokens === undefined) {
      if (key.slot !== value.slot) return false;
      this.#addPage(key.page, value.page, position, key.slot, count);
      return true;
    }
    const slot = key.slot % entryTokens;
    if (slot !== value.slot % entryTokens) return false;
    const keyRow = key.page * (pageTokens?.key ?? entryTokens) + key.slot - slot;
    const valueRow = value.page * (pageTokens?.value ?? entryTokens) + value.slot - slot;
    // Cut where entries end.
    for (let at = slot; at < slot + count; ) {
      const end = Math.min(slot + count, at - (at % entryTokens) + entryTokens);
      const pages = Math.floor(at / entryTokens);
      const [keyPage, valuePage] = [keyRow / entryTokens + pages, valueRow / entryTokens + pages];
      this.#addPage(keyPage, valuePage, position + at - slot, at % entryTokens, end - at);
      at = end;
    }
    return true;
  }

  #addPage(key: number, value: number, position: number, slot: number, count: number): void {
    const at = this.pages.add();
    const { words } = this.pages;
    words[at] = key;
    words[at + 1] = value;
    words[at + 2] = position;
    words[at + 3] = slot | (count << 16);
  }

  /** Cuts the pages of a row, and its other tokens, in `count` shares: whole pages, and runs of 16 tokens for one warp each. */
  #addItems({ row, position, queries, sequence }: Row, place: Place, count: number): void {
    const { firstPage, pages, firstRest, rests, packedRests } = place;
    const runs = Math.ceil(rests / REST_COST_TOKENS);
    let page = 0;
    let rest = 0;
    for (let split = 0; split < count; split++) {
      // Shares that are larger by a page are smaller by a run.
      const pageEnd = Math.ceil(((split + 1) * pages) / count);
      const restEnd = Math.min(rests, REST_COST_TOKENS * Math.floor(((split + 1) * runs) / count));
      const at = this.items.add();
      const { words } = this.items;
      words[at] = row;
      words[at + 1] = firstPage + page;
      words[at + 2] = pageEnd - page;
      words[at + 3] = firstRest + rest;
      words[at + 4] = restEnd - rest;
      words[at + 5] = Math.min(Math.max(packedRests - rest, 0), restEnd - rest);
      words[at + 6] = split;
      words[at + 7] = count;
      words[at + 8] = sequence.key.statistics;
      words[at + 9] = sequence.value.statistics;
      words[at + 10] = position;
      words[at + 11] = queries;
      page = pageEnd;
      rest = restEnd;
    }
  }
}

/** Where the tokens of a row are in the tables: those of `rests` that a tensor has on packed pages come first. */
interface Place {
  readonly firstPage: number;
  readonly pages: number;
  readonly firstRest: number;
  readonly rests: number;
  readonly packedRests: number;
}

/** Of a packed page. */
interface Slot {
  readonly page: number;
  readonly slot: number;
}

/** Query tokens of an item, one after another. */
interface Row {
  /** Of the queries of the job, the first one. */
  readonly row: number;
  /** Of the first one. */
  readonly position: number;
  readonly queries: number;
  readonly sequence: AttendSequence;
}

/** `most`: query tokens of a row. */
function rowsOf(sequences: readonly AttendSequence[], most: number): Row[] {
  return sequences.flatMap((sequence) => {
    const { firstQuery, queries, length } = sequence;
    return Array.from({ length: Math.ceil(queries / most) }, (_, index) => ({
      row: firstQuery + index * most,
      position: length - queries + index * most,
      queries: Math.min(most, queries - index * most),
      sequence,
    }));
  });
}

/** Positions that a query sees, if they are still there. */
function visibleRanges(position: number, window: LayerGeometry['slidingWindow']): Range[] {
  const end = position + 1;
  if (window === null || end - window.size <= window.sinks) return [[0, end]];
  return [
    [0, window.sinks],
    [end - window.size, end],
  ];
}

/** How many of `count` entries, rising in position, begin at a position or before it. */
function countUpTo(table: WordTable, first: number, count: number, position: number): number {
  const { words, structWords } = table;
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((words[(first + middle) * structWords + 2] as number) <= position) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Row of a slot for RestEntry, its source in the highest bits. */
function rowOf({ source, page }: Span, slot: number, pageTokens = PAGE_TOKENS): number {
  const first = REST_SOURCES[source] * REST_ROWS;
  if (source === 'input') return first + slot;
  return first + page * (source === 'packed' ? pageTokens : WINDOW_PAGE_TOKENS) + slot;
}

function isSame(known: readonly AttendSequence[], given: readonly AttendSequence[]): boolean {
  if (known.length !== given.length) return false;
  for (let i = 0; i < known.length; i++) {
    const a = known[i] as AttendSequence;
    const b = given[i] as AttendSequence;
    if (a === b) continue;
    if (!isSameSpans(a.key.spans, b.key.spans)) return false;
    if (!isSameSpans(a.value.spans, b.value.spans)) return false;
    if (a.key.statistics !== b.key.statistics || a.value.statistics !== b.value.statistics)
      return false;
    if (a.length !== b.length || a.queries !== b.queries || a.firstQuery !== b.firstQuery)
      return false;
  }
  return true;
}

/** Within a step equal spans are the same objects. */
function isSameSpans(known: readonly Span[], given: readonly Span[]): boolean {
  if (known === given) return true;
  if (known.length !== given.length) return false;
  for (let i = 0; i < known.length; i++) {
    const a = known[i] as Span;
    const b = given[i] as Span;
    if (a.source !== b.source || a.page !== b.page || a.slot !== b.slot) return false;
    if (a.count !== b.count || a.position !== b.position) return false;
  }
  return true;
}
