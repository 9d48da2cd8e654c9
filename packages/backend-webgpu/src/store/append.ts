/**
 * Executes the work of a step on one tensor of one layer: copies, statistics, window writes, packs.
 */
import type { BlockLayout, PackWork, Span, TensorWork } from '@lowbit-kv/core';
import type { Kernel } from '../device/pipelines.js';
import { LONGEST_X, type Recorder } from '../device/recorder.js';
import { type CodeOrder, elementsOfWords, fieldsOfByte } from '../shaders/code-order.js';
import type { TileShape } from '../shaders/pack-tile.js';
import { packTiles } from './pack-tiles.js';
import { spanPlace, statisticsHalf } from './span-words.js';
import type { TensorMemory } from './tensor-memory.js';

const LANES = 64;
/** Parameter entries of one invocation. */
const RUN = 4;

/** Kernels of one tensor, ready to run. */
export interface TensorKernels {
  readonly write: Kernel;
  readonly copy: Kernel;
  readonly pack: {
    readonly tile: { readonly kernel: Kernel; readonly shape: TileShape } | null;
    readonly rows: RowKernels | null;
    readonly statistics: readonly { readonly gather: Kernel; readonly measure: Kernel }[];
  } | null;
}

export interface RowKernels {
  readonly gather: Kernel;
  /** Null where groups store none. */
  readonly parameters: Kernel | null;
  readonly codes: Kernel;
  readonly top: Kernel | null;
  readonly outliers: Kernel | null;
}

export interface AppendContext {
  readonly recorder: Recorder;
  readonly kernels: TensorKernels;
  readonly memory: TensorMemory;
  readonly order: CodeOrder;
  readonly scratch: GPUBuffer;
  readonly inputs: GPUBuffer;
  /** First half of this tensor in `inputs`. */
  readonly inputHalf: number;
  /** Where the next job leaves that a head has more outliers than there is room for. */
  readonly fault: () => { readonly buffer: GPUBuffer; readonly number: number };
}

export function appendTensor(context: AppendContext, work: TensorWork): void {
  copyPages(context, work.copies);
  for (const { page, sources } of work.statistics) measure(context, page, sources);
  writeRows(context, work.writes);
  const kernels = context.kernels.pack;
  if (work.packs.length === 0 || kernels === null) return;
  if (kernels.tile !== null) packTiles(context, kernels.tile, work.packs);
  if (kernels.rows !== null)
    for (const packs of chunks(context, work.packs)) packRows(context, kernels.rows, packs);
}

function copyPages(
  { recorder, kernels, memory }: AppendContext,
  copies: TensorWork['copies'],
): void {
  if (copies.length === 0) return;
  const words = copies.flatMap(({ kind, from, to }) => [
    memory.wordOf(kind, from),
    memory.wordOf(kind, to),
    memory.sizeOf(kind) / 4,
  ]);
  const longest = Math.max(...copies.map(({ kind }) => memory.sizeOf(kind) / 4));
  recorder.reserve(1, words.length);
  recorder.dispatch({
    kernel: kernels.copy,
    buffers: [memory.buffer],
    table: recorder.table(words),
    groups: [Math.ceil(longest / LANES), copies.length, 1],
  });
}

export function writeRows(context: AppendContext, writes: TensorWork['writes']): void {
  const { recorder, kernels, memory, inputs, inputHalf } = context;
  const { heads, headDim } = memory.plan;
  const words: number[] = [];
  for (const { row, page, slot, count } of writes)
    words.push(memory.halfOf('window', page), slot, inputHalf + row * heads * headDim, count);
  if (words.length === 0) return;
  recorder.reserve(Math.ceil(writes.length / LONGEST_X), words.length);
  const table = recorder.table(words);
  for (let first = 0; first < writes.length; first += LONGEST_X) {
    recorder.dispatch({
      kernel: kernels.write,
      buffers: [inputs, memory.buffer],
      table: table + first * 4,
      groups: [Math.min(LONGEST_X, writes.length - first), heads, 1],
    });
  }
}

/** Words of the span table of the gather kernel: first row, source, page, slot, statistics page, and one unused. */
function spanWords(
  { memory, inputHalf }: Pick<AppendContext, 'memory' | 'inputHalf'>,
  spans: readonly Span[],
  row: number,
  statistics: number,
): number[] {
  const words: number[] = [];
  let first = row;
  for (const span of spans) {
    words.push(first, ...spanPlace(memory, inputHalf, span), statisticsHalf(memory, statistics), 0);
    first += span.count;
  }
  return words;
}

function measure(context: AppendContext, page: number, sources: readonly Span[]): void {
  const { recorder, kernels, memory, scratch, inputs } = context;
  const { heads, headDim } = memory.plan;
  const rows = sources.reduce((sum, { count }) => sum + count, 0);
  const spans = spanWords(context, sources, 0, page);
  for (const [plane, kernel] of (kernels.pack?.statistics ?? []).entries()) {
    recorder.reserve(2, spans.length + 3);
    recorder.dispatch({
      kernel: kernel.gather,
      buffers: [memory.buffer, inputs, scratch],
      table: recorder.table(spans),
      entries: sources.length,
      groups: [rows, heads, 1],
    });
    const half = memory.halfOf('statistics', page) + plane * heads * headDim;
    recorder.dispatch({
      kernel: kernel.measure,
      buffers: [scratch, memory.buffer],
      table: recorder.table([half, rows, floatBits(1 / rows)]),
      groups: [1, heads, 1],
    });
  }
}

/** Packs in order, in groups whose rows fit into the scratch. */
function* chunks(
  { memory, scratch }: Pick<AppendContext, 'memory' | 'scratch'>,
  packs: readonly PackWork[],
): Generator<PackWork[]> {
  const { heads, headDim } = memory.plan;
  const room = Math.floor(scratch.size / (heads * headDim * 4));
  let chunk: PackWork[] = [];
  let rows = 0;
  for (const pack of packs) {
    if (rows + pack.count > room && chunk.length > 0) {
      yield chunk;
      chunk = [];
      rows = 0;
    }
    chunk.push(pack);
    rows += pack.count;
  }
  if (chunk.length > 0) yield chunk;
}

export function packRows(
  context: Omit<AppendContext, 'kernels'>,
  kernels: RowKernels,
  packs: readonly PackWork[],
): void {
  const { recorder, memory, scratch, inputs } = context;
  const layout = memory.plan.layout as BlockLayout;
  const spans: number[] = [];
  const table: number[] = [];
  let rows = 0;
  let parameterRuns = 0;
  let codeWords = 0;
  let tokens = 0;
  for (const { page, slot, count, sources, statistics } of packs) {
    spans.push(...spanWords(context, sources, rows, statistics));
    table.push(memory.wordOf('packed', page), slot, count, rows);
    rows += count;
    parameterRuns = Math.max(parameterRuns, runsOfParameters(layout, slot, count));
    tokens = Math.max(tokens, count);
    codeWords = Math.max(codeWords, wordsOfCodes(memory, context.order, slot, count));
  }
  recorder.reserve(5, spans.length + table.length);
  recorder.dispatch({
    kernel: kernels.gather,
    buffers: [memory.buffer, inputs, scratch],
    table: recorder.table(spans),
    entries: spans.length / 6,
    groups: [rows, layout.heads, 1],
  });
  const first = recorder.table(table);
  if (kernels.top !== null)
    recorder.dispatch({
      kernel: kernels.top,
      buffers: [scratch, memory.buffer],
      table: first,
      groups: [tokens, layout.heads, packs.length],
    });
  const vectors = layout.parametersShared ? 1 : layout.heads;
  const codes = layout.codes.rows === 'groups' ? parameterRuns : codeWords;
  // A run is a workgroup where vectors have bands, an invocation elsewhere.
  const runGroups = kernels.outliers === null ? Math.ceil(parameterRuns / LANES) : parameterRuns;
  for (const [kernel, groups, heads] of [
    [kernels.parameters, runGroups, vectors],
    [kernels.codes, Math.ceil(codes / LANES), layout.heads],
  ] as const) {
    if (kernel === null) continue;
    recorder.dispatch({
      kernel,
      buffers: [scratch, memory.buffer],
      table: first,
      groups: [groups, heads, packs.length],
    });
  }
  if (kernels.outliers === null) return;
  const fault = context.fault();
  recorder.dispatch({
    kernel: kernels.outliers,
    buffers: [scratch, memory.buffer, fault.buffer],
    table: first,
    entries: fault.number,
    groups: [1, layout.heads, packs.length],
  });
}

/** Bits of the f32 number nearest to a value. */
function floatBits(value: number): number {
  return new Uint32Array(Float32Array.of(value).buffer)[0] as number;
}

/** Runs of entries of the parameter planes, or of groups of a codec, that hold these slots; see pack.wgsl. */
function runsOfParameters(layout: BlockLayout, slot: number, count: number): number {
  const entries = (slots: number) =>
    (slots / layout.tokensPerGroup) * (layout.headDim / layout.channelsPerGroup);
  return Math.ceil(entries(slot + count) / RUN) - Math.floor(entries(slot) / RUN);
}

/** Words that the codes kernel has an invocation for: of the rows, or of the words, that hold these slots. */
function wordsOfCodes(memory: TensorMemory, order: CodeOrder, slot: number, count: number): number {
  const { codes, bits, headDim } = memory.plan.layout as BlockLayout;
  const runs = (size: number) => Math.ceil((slot + count) / size) - Math.floor(slot / size);
  if (order === 'reduction') {
    const [fields, elements] = [fieldsOfByte(bits), elementsOfWords(bits)];
    return memory.plan.tensor === 'value'
      ? runs(elements) * (headDim / fields)
      : runs(fields) * (headDim / elements);
  }
  return codes.rows === 'channels' ? headDim * runs(32 / bits) : (count * codes.rowBytes) / 4;
}
