/**
 * Executes one attend job: queries, splits, merge. Sequences with many queries run in rounds that bound the partial results.
 */
import type { AttendSequence, LayerPlan, TensorType } from '@lowbit-kv/core';
import type { GrowingBuffer } from '../device/growing-buffer.js';
import type { Kernel } from '../device/pipelines.js';
import { type Bound, LONGEST_X, type Recorder } from '../device/recorder.js';
import type { AttentionPrograms } from '../shaders/attention-programs.js';
import { areReadAsTheyCame, ITEM_WORDS, PARTIAL_BYTES, roundTables } from './round-tables.js';
import type { SegmentTables } from './segments.js';
import type { TensorMemory } from './tensor-memory.js';

/** Workgroups worth having: splits become longer when there are more. */
export const WORKGROUPS = 4096;

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
  { plan, kernels }: AttendContext,
  sequences: readonly AttendSequence[],
): Generator<readonly QueryBlock[]> {
  let round: QueryBlock[] = [];
  let rows = 0;
  const room = roundQueries(plan.geometry.queryHeads, kernels.partialWords);
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

/** Queries of one round: at least one, and as many as a few splits each fit into a dispatch and the partial results. */
export function roundQueries(queryHeads: number, partialWords: number): number {
  const bytes = queryHeads * partialWords * 4;
  return Math.max(1, Math.min(LONGEST_X / 4, Math.floor(PARTIAL_BYTES / bytes / 2)));
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
  const prepared = context.prepared.atLeast(queries * queryHeads * kernels.queryWords * 4);
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
  const asTheyCame = areReadAsTheyCame(context);
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
    groups: [round.rowBlocks, round.items, kvHeads],
  });
  recorder.dispatch({
    kernel: kernels.merge,
    buffers: [value.buffer, partials, output, logSumExp],
    table: round.firstRow,
    groups: [queries, queryHeads, 1],
  });
}

/** Bytes that the partial results of so many queries take at most. */
export function partialBytes(
  { rows, partialWords }: AttentionKernels,
  queries: number,
  queryHeads: number,
): number {
  // Pages and the rest each have as many workgroups, and one more for each sequence.
  const most = (2 * WORKGROUPS * rows + 3 * queries * queryHeads) * partialWords * 4;
  return Math.min(3 * PARTIAL_BYTES, most);
}
