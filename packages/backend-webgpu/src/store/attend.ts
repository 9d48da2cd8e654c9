/**
 * Executes one attend job: queries, splits, merge. Sequences with many queries run in rounds that bound the partial results.
 */
import type { AttendSequence, LayerPlan, TensorType } from '@lowbit-kv/core';
import type { GrowingBuffer } from '../device/growing-buffer.js';
import type { Kernel } from '../device/pipelines.js';
import { type Bound, LONGEST_X, type Recorder } from '../device/recorder.js';
import type { AttentionPrograms } from '../shaders/attention-programs.js';
import { SEGMENT_WORDS, type Segments, SegmentTables } from './segments.js';
import type { TensorMemory } from './tensor-memory.js';

/** Workgroups worth having: splits become longer when there are more. */
export const WORKGROUPS = 4096;
const SHORTEST_SPLIT = 128;
/** Tokens of a page that take as long as one that is in none. */
const REST_COST = 8;
/** Splits of a sequence that cost less to merge than they win. */
const CHEAP_SPLITS = 128;
const PARTIAL_BYTES = 32 * 1024 * 1024;
const NO_STATISTICS = 0xffffffff;
const ITEM_WORDS = 4;

export interface AttentionKernels extends Omit<AttentionPrograms, 'query' | 'attend' | 'merge'> {
  readonly query: Kernel;
  readonly attend: Kernel;
  readonly merge: Kernel;
}

export interface AttendContext {
  readonly plan: LayerPlan;
  readonly recorder: Recorder;
  readonly kernels: AttentionKernels;
  readonly key: TensorMemory;
  readonly value: TensorMemory;
  readonly inputs: { readonly buffer: GPUBuffer; readonly key: number; readonly value: number };
  readonly query: { readonly source: Bound; readonly type: TensorType };
  readonly prepared: GrowingBuffer;
  readonly partials: GrowingBuffer;
  readonly output: Bound;
  readonly logSumExp: Bound;
  readonly workgroups: number;
  /** Shared by the layers of a cache. Default: tables of its own. */
  readonly segments?: SegmentTables;
}

/** Queries `first` to `first + queries - 1` of the job, of one sequence; the last stands at position `length - 1`. */
export interface QueryBlock {
  readonly sequence: AttendSequence;
  readonly firstQuery: number;
  readonly queries: number;
  readonly length: number;
}

/** `parts`: of a layer, all with as many heads. They share tables, queries of their own are in place already. */
export function attend(
  parts: readonly AttendContext[],
  sequences: readonly AttendSequence[],
): void {
  const [first] = parts as [AttendContext];
  for (const round of rounds(first, sequences)) {
    const placed = placeRound(first, round, parts.length);
    for (const part of parts) dispatchRound(part, placed);
  }
}

function* rounds(
  context: AttendContext,
  sequences: readonly AttendSequence[],
): Generator<readonly QueryBlock[]> {
  let round: QueryBlock[] = [];
  let rows = 0;
  const room = roundRows(context);
  for (const block of blocks(sequences, room)) {
    if (rows + block.queries > room) {
      yield round;
      round = [];
      rows = 0;
    }
    round.push(block);
    rows += block.queries;
  }
  if (round.length > 0) yield round;
}

/** Queries of one round: at least one, and as many as one split each fits into the partial results. */
function roundRows({ plan, kernels }: AttendContext): number {
  const bytes = plan.geometry.queryHeads * kernels.partialWords * 4;
  return Math.max(1, Math.min(LONGEST_X, Math.floor(PARTIAL_BYTES / bytes / 2)));
}

function* blocks(sequences: readonly AttendSequence[], most: number): Generator<QueryBlock> {
  for (const sequence of sequences) {
    const { firstQuery, queries, length } = sequence;
    for (let first = 0; first < queries; first += most) {
      const count = Math.min(most, queries - first);
      yield {
        sequence,
        firstQuery: firstQuery + first,
        queries: count,
        length: length - queries + first + count,
      };
    }
  }
}

/** Tables of one round in the commands, and how large its dispatches are. */
export interface PlacedRound {
  readonly firstSegment: number;
  readonly firstItem: number;
  readonly firstRow: number;
  readonly items: number;
  readonly queries: number;
  readonly rowBlocks: number;
  readonly prepared: GPUBuffer;
  readonly partials: GPUBuffer;
}

export function placeRound(
  context: AttendContext,
  round: readonly QueryBlock[],
  parts = 1,
): PlacedRound {
  const { plan, recorder, kernels } = context;
  const { queryHeads, kvHeads } = plan.geometry;
  const tables = roundTables(context, round);
  const queries = round.reduce((sum, block) => sum + block.queries, 0);
  const prepared = context.prepared.atLeast(
    Math.max(...round.map(({ firstQuery, queries: count }) => firstQuery + count)) *
      queryHeads *
      kernels.queryWords *
      4,
  );
  const partials = context.partials.atLeast(tables.partialRows * kernels.partialWords * 4);
  const { sequences, segments, items, rows } = tables;
  const segmentWords = segments.reduce((sum, words) => sum + words.length, 0);
  recorder.reserve(3 * parts, sequences.length + segmentWords + items.length + rows.length);
  const firstSequence = recorder.table(sequences);
  const firstSegment = firstSequence + sequences.length;
  for (const words of segments) recorder.table(words);
  // Tables name sequences by where they lie in the commands.
  for (let i = 0; i < items.length; i += ITEM_WORDS)
    items[i] = (items[i] as number) + firstSequence;
  for (let i = 0; i < rows.length; i += 2) rows[i] = (rows[i] as number) + firstSequence;
  const firstItem = recorder.table(items);
  const firstRow = recorder.table(rows);
  const most = Math.max(...round.map((block) => block.queries));
  return {
    firstSegment,
    firstItem,
    firstRow,
    items: items.length / ITEM_WORDS,
    queries,
    rowBlocks: Math.ceil((most * (queryHeads / kvHeads)) / kernels.rows),
    prepared,
    partials,
  };
}

export function dispatchRound(context: AttendContext, round: PlacedRound): void {
  const { plan, recorder, kernels, key, value, inputs, query, output, logSumExp } = context;
  const { queryHeads, kvHeads } = plan.geometry;
  const { prepared, partials, queries } = round;
  // Queries that are f32 and meet plain keys are read as they came.
  const asTheyCame = query.type === 'f32' && kernels.queryWords === plan.key.headDim;
  if (!asTheyCame)
    recorder.dispatch({
      kernel: kernels.query,
      buffers: [key.buffer, query.source, prepared],
      table: round.firstRow,
      entries: ['f32', 'f16', 'bf16'].indexOf(query.type),
      groups: [queries, queryHeads, 1],
    });
  recorder.dispatch({
    kernel: kernels.attend,
    buffers: [
      key.buffer,
      value.buffer,
      inputs.buffer,
      asTheyCame ? query.source : prepared,
      partials,
    ],
    table: round.firstItem,
    first: round.firstSegment,
    groups: [round.items, kvHeads, round.rowBlocks],
  });
  recorder.dispatch({
    kernel: kernels.merge,
    buffers: [value.buffer, partials, output, logSumExp],
    table: round.firstRow,
    groups: [queries, queryHeads, 1],
  });
}

interface RoundTables {
  readonly sequences: number[];
  /** Of each sequence, one after another. */
  readonly segments: Uint32Array[];
  /** Sequence (offset into `sequences`), first segment, segments, first partial row. */
  readonly items: number[];
  /** Sequence (offset into `sequences`), query of the block. */
  readonly rows: number[];
  readonly partialRows: number;
}

function roundTables(context: AttendContext, round: readonly QueryBlock[]): RoundTables {
  const { plan, kernels, key, value, inputs, segments = new SegmentTables() } = context;
  const { queryHeads } = plan.geometry;
  const tables = {
    sequences: [] as number[],
    segments: [] as Uint32Array[],
  };
  const pageItems: number[] = [];
  const restItems: number[] = [];
  const rows: number[] = [];
  const split = splitTokens(context, round);
  const keyPlace = { memory: key, inputHalf: inputs.key };
  const valuePlace = { memory: value, inputHalf: inputs.value };
  const halfOf = (memory: TensorMemory, page: number) =>
    page < 0 ? NO_STATISTICS : memory.halfOf('statistics', page);
  const apart = kernels.pagesApart;
  const known = new Map<AttendSequence, { readonly first: number; readonly own: Segments }>();
  let segmentCount = 0;
  let partialRows = 0;
  for (const block of round) {
    const { sequence } = block;
    let entry = known.get(sequence);
    if (entry === undefined) {
      const own = segments.of(sequence, keyPlace, valuePlace, apart);
      entry = { first: segmentCount, own };
      segmentCount += own.words.length / SEGMENT_WORDS;
      tables.segments.push(own.words);
      known.set(sequence, entry);
    }
    const { first: firstSegment, own } = entry;
    const offset = tables.sequences.length;
    const blockRows = block.queries * queryHeads;
    const all = own.words.length / SEGMENT_WORDS;
    const firstPartial = partialRows;
    const place = (items: number[], from: number, end: number, tokens: number) => {
      for (const [first, count] of splits(own.words, from, end, tokens)) {
        items.push(offset, firstSegment + first, count, partialRows);
        partialRows += blockRows;
      }
    };
    place(pageItems, 0, own.pages, split);
    // Workgroups to spare: every segment has one.
    const restTokens = split > SHORTEST_SPLIT ? split / REST_COST : 1;
    place(restItems, own.pages, all, apart ? restTokens : split);
    tables.sequences.push(
      ...[block.firstQuery, block.queries, block.length],
      ...[halfOf(key, sequence.key.statistics), halfOf(value, sequence.value.statistics)],
      ...[firstPartial, (partialRows - firstPartial) / blockRows],
    );
    for (let query = 0; query < block.queries; query++) rows.push(offset, query);
  }
  // The rest first: a workgroup of it takes longer than one of pages.
  return { ...tables, items: [...restItems, ...pageItems], rows, partialRows };
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

/** Bytes that the partial results of so many queries take at most. */
export function partialBytes(
  { rows, partialWords }: AttentionKernels,
  queries: number,
  queryHeads: number,
): number {
  const most = (WORKGROUPS * rows + 2 * queries * queryHeads) * partialWords * 4;
  return Math.min(2 * PARTIAL_BYTES, most);
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
