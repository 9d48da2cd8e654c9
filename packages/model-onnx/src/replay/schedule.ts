/**
 * Which form of which token each query of a window meets, had the window been decoded step by step: the schedule of a
 * replay. Queries come in blocks; a block attends to columns, and a column is a token in one form (keys packed or f16,
 * values packed or f16) that some consecutive queries of the block meet.
 */
import { type LayerGeometry, type PageClass, windowCounts } from '@lowbit-kv/core';

/** Queries per block: as many as the windows of published schemes pack at once, so that few columns differ inside a block. */
export const BLOCK_QUERIES = 128;

export interface TokenForm {
  readonly keyPacked: boolean;
  readonly valuePacked: boolean;
}

/** A token in another form than the base column of its position has. */
export interface FormColumn extends TokenForm {
  readonly position: number;
}

export interface ReplayBlock {
  /** Of the queries, one after another. */
  readonly positions: Int32Array;
  /** Base columns are the positions from here to the last query; what is below no query sees. */
  readonly firstPosition: number;
  /** Base columns hold packed keys in these positions, packed values in those. */
  readonly keyPacked: PackedRange;
  readonly valuePacked: PackedRange;
  /** Columns before the base columns. */
  readonly others: readonly FormColumn[];
  /** By column, the others first: first and last position of a query that meets it; `to < from` where none does. */
  readonly from: Int32Array;
  readonly to: Int32Array;
}

/** Positions `[first, end)`. */
export interface PackedRange {
  readonly first: number;
  readonly end: number;
}

/** What decides about a layer's schedule. */
export interface ScheduleRule {
  readonly key: PageClass;
  readonly value: PageClass;
  readonly window: LayerGeometry['slidingWindow'];
}

/** Blocks of a window of `tokens` tokens that starts with an empty cache. */
export function replaySchedule(rule: ScheduleRule, tokens: number): ReplayBlock[] {
  const blocks: ReplayBlock[] = [];
  for (let first = 0; first < tokens; first += BLOCK_QUERIES)
    blocks.push(planBlock(rule, first, Math.min(BLOCK_QUERIES, tokens - first)));
  return blocks;
}

/** Which tokens the query at `position` meets packed, when its token was appended in a step of its own. */
export function packedRange(pageClass: PageClass, position: number): PackedRange {
  // Packed before attention: the state after the step; packed after it: the state before.
  const length = pageClass.packing === 'before-attention' ? position + 1 : position;
  const { sinks, packed } = windowCounts(pageClass, length);
  return { first: sinks, end: sinks + packed };
}

function planBlock({ key, value, window }: ScheduleRule, first: number, queries: number) {
  const last = first + queries - 1;
  const keys = rangesOf(key, first, queries);
  const values = rangesOf(value, first, queries);
  const formAt = (query: number, position: number): TokenForm => ({
    keyPacked: within(keys[query - first] as PackedRange, position),
    valuePacked: within(values[query - first] as PackedRange, position),
  });
  const hasSinks = window !== null && window.sinks > 0;
  const firstPosition = window === null || hasSinks ? 0 : Math.max(0, first - window.size + 1);
  const base: { from: number; to: number }[] = [];
  const others: (FormColumn & { from: number; to: number })[] = [];
  for (let position = firstPosition; position <= last; position++) {
    const baseForm = formAt(first, position);
    const column = { from: 0, to: -1 };
    for (const run of runsOf(position, first, lastQuerySeeing(window, position, last), formAt)) {
      if (sameForm(run.form, baseForm)) Object.assign(column, { from: run.from, to: run.to });
      else others.push({ position, ...run.form, from: run.from, to: run.to });
    }
    base.push(column);
  }
  const columns = [...others, ...base];
  return {
    positions: Int32Array.from({ length: queries }, (_, i) => first + i),
    firstPosition,
    keyPacked: keys[0] as PackedRange,
    valuePacked: values[0] as PackedRange,
    others: others.map(({ position, keyPacked, valuePacked }) => ({
      position,
      keyPacked,
      valuePacked,
    })),
    from: Int32Array.from(columns, ({ from }) => from),
    to: Int32Array.from(columns, ({ to }) => to),
  };
}

function rangesOf(pageClass: PageClass, first: number, count: number): PackedRange[] {
  return Array.from({ length: count }, (_, i) => packedRange(pageClass, first + i));
}

function within({ first, end }: PackedRange, position: number): boolean {
  return position >= first && position < end;
}

function sameForm(a: TokenForm, b: TokenForm): boolean {
  return a.keyPacked === b.keyPacked && a.valuePacked === b.valuePacked;
}

/** Last query up to `last` that a sliding window lets see `position`. */
export function lastQuerySeeing(
  window: ScheduleRule['window'],
  position: number,
  last: number,
): number {
  if (window === null || position < window.sinks) return last;
  return Math.min(last, position + window.size - 1);
}

/** Runs of queries, from the first of the block or the token's own on, that meet a token in the same form. */
function runsOf(
  position: number,
  firstQuery: number,
  last: number,
  formAt: (query: number, position: number) => TokenForm,
): { form: TokenForm; from: number; to: number }[] {
  const runs: { form: TokenForm; from: number; to: number }[] = [];
  const first = Math.max(firstQuery, position);
  if (first > last) return runs;
  // Packed tokens stay packed: equal at both ends is equal between them.
  const form = formAt(first, position);
  if (sameForm(form, formAt(last, position))) return [{ form, from: first, to: last }];
  for (let query = first; query <= last; query++) {
    const met = formAt(query, position);
    const run = runs.at(-1);
    if (run !== undefined && sameForm(run.form, met)) run.to = query;
    else runs.push({ form: met, from: query, to: query });
  }
  return runs;
}
