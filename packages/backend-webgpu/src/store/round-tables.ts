/**
 * How the tokens of a round of attention are shared among workgroups: its tables.
 */
import type { AttendSequence } from '@lowbit-kv/core';
import type { AttendContext, QueryBlock } from './attend.js';
import { SEGMENT_WORDS, type Segments, SegmentTables } from './segments.js';
import type { TensorMemory } from './tensor-memory.js';

const SHORTEST_SPLIT = 128;
/**
 * Splits of pages have so many times the tokens of splits of the rest, which take eight times as long for each: those come
 * first, and must not end last.
 */
const REST_SHARE = 16;
/** Splits of a sequence that cost less to merge than they win. */
const CHEAP_SPLITS = 128;
/** Of partial results, about. */
export const PARTIAL_BYTES = 32 * 1024 * 1024;
const NO_STATISTICS = 0xffffffff;
export const ITEM_WORDS = 4;

export interface RoundTables {
  readonly sequences: number[];
  /** Of each sequence, one after another. */
  readonly segments: Uint32Array[];
  /** Sequence (offset into `sequences`), first segment, segments, first partial row. */
  readonly items: number[];
  /** Sequence (offset into `sequences`), query of the block. */
  readonly rows: number[];
  readonly partialRows: number;
}

export function roundTables(context: AttendContext, round: readonly QueryBlock[]): RoundTables {
  const { plan, kernels, key, value } = context;
  const { queryHeads } = plan.geometry;
  const placed = placeSegments(context, round);
  const split = splitTokens(context, round);
  const restSplit = kernels.pagesApart ? restTokens(context, round, placed, split) : split;
  const halfOf = (memory: TensorMemory, page: number) =>
    page < 0 ? NO_STATISTICS : memory.halfOf('statistics', page);
  const sequences: number[] = [];
  const pageItems: number[] = [];
  const restItems: number[] = [];
  const rows: number[] = [];
  let partialRows = 0;
  let prepared = 0;
  for (const block of round) {
    const { sequence } = block;
    const { first: firstSegment, own } = placed.get(sequence) as PlacedSegments;
    const offset = sequences.length;
    const blockRows = block.queries * queryHeads;
    const firstPartial = partialRows;
    const place = (items: number[], from: number, end: number, tokens: number) => {
      const seen = endBefore(own.words, from, end, block.length);
      for (const [first, count] of splits(own.words, from, seen, tokens)) {
        items.push(offset, firstSegment + first, count, partialRows);
        partialRows += blockRows;
      }
    };
    place(pageItems, 0, own.pages, split);
    place(restItems, own.pages, own.words.length / SEGMENT_WORDS, restSplit);
    sequences.push(
      ...[block.firstQuery, block.queries, block.length],
      ...[halfOf(key, sequence.key.statistics), halfOf(value, sequence.value.statistics)],
      ...[firstPartial, (partialRows - firstPartial) / blockRows],
      areReadAsTheyCame(context) ? block.firstQuery : prepared,
    );
    prepared += block.queries;
    for (let query = 0; query < block.queries; query++) rows.push(offset, query);
  }
  return {
    sequences,
    segments: [...placed.values()].map(({ own }) => own.words),
    // The rest first: a workgroup of it takes longer than one of pages.
    items: [...restItems, ...pageItems],
    rows,
    partialRows,
  };
}

/** Queries that are f32 and meet plain keys; others are prepared, round by round. */
export function areReadAsTheyCame({ plan, kernels, query }: AttendContext): boolean {
  return query.type === 'f32' && kernels.queryWords === plan.key.headDim;
}

interface PlacedSegments {
  /** Index of the first among those of all sequences. */
  readonly first: number;
  readonly own: Segments;
}

function placeSegments(
  { kernels, key, value, inputs, segments = new SegmentTables() }: AttendContext,
  round: readonly QueryBlock[],
): Map<AttendSequence, PlacedSegments> {
  const keyPlace = { memory: key, inputHalf: inputs.key };
  const valuePlace = { memory: value, inputHalf: inputs.value };
  const placed = new Map<AttendSequence, PlacedSegments>();
  let first = 0;
  for (const { sequence } of round) {
    if (placed.has(sequence)) continue;
    const own = segments.of(sequence, keyPlace, valuePlace, kernels.pagesApart);
    placed.set(sequence, { first, own });
    first += own.words.length / SEGMENT_WORDS;
  }
  return placed;
}

/**
 * Tokens outside of pages in a split of those: few, as they take long, but no more splits than there are workgroups. Short steps
 * have workgroups to spare: every segment has one.
 */
function restTokens(
  { plan, kernels, workgroups }: AttendContext,
  round: readonly QueryBlock[],
  placed: ReadonlyMap<AttendSequence, PlacedSegments>,
  split: number,
): number {
  const { queryHeads, kvHeads } = plan.geometry;
  let tokens = 0;
  for (const { sequence, queries, length } of round) {
    const rowBlocks = Math.ceil((queries * (queryHeads / kvHeads)) / kernels.rows);
    const { own } = placed.get(sequence) as PlacedSegments;
    tokens += Math.min(own.restTokens, length) * kvHeads * rowBlocks;
  }
  const wanted = split > SHORTEST_SPLIT ? split / REST_SHARE : 1;
  return Math.max(wanted, tokens / workgroups);
}

/** Tokens of a split: short enough to fill the device, long enough that merging does not cost more. */
function splitTokens(
  { plan, kernels, workgroups }: AttendContext,
  round: readonly QueryBlock[],
): number {
  const { queryHeads, kvHeads } = plan.geometry;
  const { fewestWorkgroups = workgroups } = kernels;
  let columns = 0;
  let groups = 0;
  let bytes = 0;
  for (const { queries, length } of round) {
    const rowBlocks = Math.ceil((queries * (queryHeads / kvHeads)) / kernels.rows);
    columns += kvHeads * rowBlocks;
    groups += length * kvHeads * rowBlocks;
    bytes += length * queries * queryHeads * kernels.partialWords * 4;
  }
  const worth = Math.min(workgroups, Math.max(fewestWorkgroups, CHEAP_SPLITS * columns));
  return Math.max(SHORTEST_SPLIT, Math.ceil(groups / worth), Math.ceil(bytes / PARTIAL_BYTES));
}

/** The end of the segments `from` to `end`, in rising position, that begin before position `length`: queries see no others. */
function endBefore(words: Uint32Array, from: number, end: number, length: number): number {
  let seen = end;
  while (seen > from && (words[(seen - 1) * SEGMENT_WORDS] as number) >= length) seen--;
  return seen;
}

/** Runs of segments `from` to `end` with about `tokens` tokens each: first segment and count. */
function* splits(
  words: Uint32Array,
  from: number,
  end: number,
  tokens: number,
): Generator<[number, number]> {
  let first = from;
  let held = 0;
  for (let i = from; i < end; i++) {
    held += words[i * SEGMENT_WORDS + 1] as number;
    if (held < tokens && i < end - 1) continue;
    yield [first, i + 1 - first];
    first = i + 1;
    held = 0;
  }
}
