/**
 * A layer of random pages in canonical layout, sequences that show them in random ways, and what the reference makes of them.
 */
import {
  type AttendSequence,
  type BlockStore,
  encodeTokens,
  f16Tensor,
  f16ToF32,
  f32Tensor,
  f32ToF16,
  type LayerPlan,
  type PackedTensorPlan,
  type Plan,
  referenceBackend,
  type Span,
  type Tensor,
  type TensorPlan,
  type TensorType,
  type TensorView,
  WINDOW_PAGE_TOKENS,
} from '@lowbit-kv/core';
import { lcgNormal } from '@lowbit-kv/core/testing';
import { QUERY_TYPES } from '../../../src/attend/structs.js';
import type { Draw } from '../attend/random-views.js';

export const PAGES = { packed: 3, window: 3, statistics: 2 };
const INPUT_ROWS = 24;
export const TENSORS = ['key', 'value'] as const;
type TensorName = (typeof TENSORS)[number];

export interface Attended {
  readonly output: Float32Array;
  readonly logSumExp: Float32Array;
}

export interface AttendCase {
  readonly plan: LayerPlan;
  readonly contents: Readonly<Record<TensorName, Contents>>;
  readonly sequences: readonly AttendSequence[];
  readonly query: Query;
  readonly slots: number;
  readonly expected: Attended;
}

/** Normal f16 numbers, drawn once: of a prime count, so that rows begin anywhere in them. */
const NORMAL = lcgNormal({ seed: 4711, shape: [65_521], dtype: 'f16' });

/** With a loud channel and a shifted one, so that channels cannot be swapped unnoticed. */
function valuesOf(seed: number, shape: readonly number[]): Uint16Array<ArrayBuffer> {
  const count = shape.reduce((product, size) => product * size, 1);
  const values = Uint16Array.from(
    { length: count },
    (_, i) => NORMAL[(seed + i) % NORMAL.length] as number,
  );
  const channels = shape.at(-1) as number;
  const change = (channel: number, to: (value: number) => number) => {
    for (let i = channel; channel < channels && i < count; i += channels)
      values[i] = f32ToF16(to(f16ToF32(values[i] as number)));
  };
  change(seed % 7, (value) => 4 * value);
  change(8 + (seed % 5), (value) => value + 1.5);
  return values;
}

/** Packed pages, window pages, statistics pages and input of a tensor. */
export interface Contents {
  readonly packed: Uint8Array<ArrayBuffer>;
  readonly window: Uint16Array<ArrayBuffer>;
  readonly statistics: Uint16Array<ArrayBuffer>;
  readonly input: Uint16Array<ArrayBuffer>;
}

function contentsOf(plan: TensorPlan, draw: Draw): Contents {
  const { heads, headDim, layout } = plan;
  const seed = () => 1 + draw(1 << 20);
  const statistics = new Uint16Array((PAGES.statistics * plan.statisticsPageBytes) / 2);
  for (let i = 0; i < statistics.length; i++)
    statistics[i] = f32ToF16((0.4 + draw(1000) / 700) * (draw(2) === 0 ? 1 : -1));
  const packed = new Uint8Array(PAGES.packed * (layout?.pageBytes ?? 0));
  for (let page = 0; layout !== null && page < PAGES.packed; page++) {
    const own = statistics.subarray(0, plan.statisticsPageBytes / 2);
    const block = packed.subarray(page * layout.pageBytes, (page + 1) * layout.pageBytes);
    const tokens = valuesOf(seed(), [layout.blockTokens, heads, headDim]);
    encodeTokens(plan as PackedTensorPlan, tokens, layout.blockTokens, own, block, 0);
  }
  return {
    packed,
    window: valuesOf(seed(), [PAGES.window, heads, WINDOW_PAGE_TOKENS, headDim]),
    statistics,
    input: valuesOf(seed(), [INPUT_ROWS, heads, headDim]),
  };
}

export const bytesOf = ({
  buffer,
  byteOffset,
  byteLength,
}: Uint16Array | Uint8Array | Float32Array) => new Uint8Array(buffer, byteOffset, byteLength);

async function fill(store: BlockStore, layer: number, tensor: TensorName, contents: Contents) {
  for (const kind of ['packed', 'window', 'statistics'] as const) {
    const bytes = bytesOf(contents[kind]);
    const pages = Array.from({ length: PAGES[kind] }, (_, page) => page);
    if (bytes.length > 0) await store.writePages({ layer, tensor, kind, pages }, bytes);
  }
}

/** Runs of any length from any slot, over all positions from `first` to `end`. */
function randomSpans(
  plan: TensorPlan,
  draw: Draw,
  [first, end]: readonly [number, number],
  isFresh: boolean,
): Span[] {
  const sources: Span['source'][] = ['window', 'input'];
  if (plan.layout !== null && !isFresh) sources.push('packed', 'packed', 'packed');
  const slotsOf = {
    packed: plan.layout?.blockTokens ?? 0,
    window: WINDOW_PAGE_TOKENS,
    input: INPUT_ROWS,
  };
  const spans: Span[] = [];
  for (let position = first; position < end; ) {
    const source = sources[draw(sources.length)] as Span['source'];
    const slots = slotsOf[source];
    const slot = draw(3) === 0 ? 0 : draw(slots);
    const count = Math.min(draw(3) === 0 ? slots - slot : 1 + draw(slots - slot), end - position);
    const page = source === 'input' ? -1 : draw(PAGES[source]);
    spans.push({ source, page, slot, count, position });
    position += count;
  }
  return spans;
}

/** The same slots of other pages, where that fits. */
function alike(plan: TensorPlan, draw: Draw, spans: readonly Span[]): Span[] | undefined {
  const fits = spans.every(
    ({ source, slot, count }) =>
      source !== 'packed' || slot + count <= (plan.layout?.blockTokens ?? 0),
  );
  if (!fits) return undefined;
  return spans.map((span) => ({
    ...span,
    page: span.source === 'input' ? -1 : draw(PAGES[span.source]),
  }));
}

function viewOf(plan: TensorPlan, draw: Draw, spans: readonly Span[]): TensorView {
  const isPacked = spans.some(({ source }) => source === 'packed');
  const isMeasured = plan.statisticsPageBytes > 0 && isPacked;
  return { spans, statistics: isMeasured ? draw(PAGES.statistics) : -1 };
}

function randomSequences(
  { key, value }: LayerPlan,
  draw: Draw,
  { firstPosition = 0, tokens = 60 + draw(120) }: CaseOptions,
): AttendSequence[] {
  let firstQuery = 0;
  // Of any length; then one that is long for its blocks, and one that shows nothing.
  return [draw(90), tokens, 0].map((count, i) => {
    const isFresh = draw(6) === 0;
    const length = count === 0 ? 0 : firstPosition + count;
    const range = [firstPosition, length] as const;
    const keys = randomSpans(key, draw, range, isFresh);
    const values = draw(2) === 0 ? undefined : alike(value, draw, keys);
    const sequence = {
      firstQuery,
      queries: length === 0 ? i % 2 : 1 + draw(Math.min(count, 2)),
      length,
      key: viewOf(key, draw, keys),
      value: viewOf(value, draw, values ?? randomSpans(value, draw, range, isFresh)),
    };
    firstQuery += sequence.queries;
    return sequence;
  });
}

export interface CaseOptions {
  /** Of the first token that is still there. */
  readonly firstPosition?: number;
  /** Of the longest sequence. */
  readonly tokens?: number;
  /** Items that run at once: what shares out the items changes nothing. */
  readonly slots?: number;
  /** Changes queries `[queries, queryHeads, keyHeadDim]`. */
  readonly spoil?: (query: Float32Array) => void;
}

export async function attendCase(
  plan: Plan,
  layer: number,
  draw: Draw,
  options: CaseOptions = {},
): Promise<AttendCase> {
  const own = plan.layers[layer] as LayerPlan;
  const contents = { key: contentsOf(own.key, draw), value: contentsOf(own.value, draw) };
  const sequences = randomSequences(own, draw, options);
  const rows = sequences.reduce((sum, { queries }) => sum + queries, 0);
  const { queryHeads, keyHeadDim } = own.geometry;
  const query = queriesOf([rows, queryHeads, keyHeadDim], draw, options.spoil);
  const store = await referenceBackend().createStore(plan, {
    pages: plan.classes.map(() => PAGES),
    nonFinite: 'error',
  });
  for (const tensor of TENSORS) await fill(store, layer, tensor, contents[tensor]);
  const inputOf = (tensor: TensorName) =>
    f16Tensor(contents[tensor].input, [INPUT_ROWS, own[tensor].heads, own[tensor].headDim]);
  const { output, logSumExp } = await store
    .attend({
      step: null,
      layer,
      query,
      input: { key: inputOf('key'), value: inputOf('value') },
      sequences,
      logSumExp: true,
    })
    .read();
  store.dispose();
  const { slots = 1 + draw(12) } = options;
  const expected = {
    output: output.data as Float32Array,
    logSumExp: logSumExp?.data as Float32Array,
  };
  return { plan: own, contents, sequences, query, slots, expected };
}

export type Query = Tensor & { readonly data: Float32Array | Uint16Array };

function queriesOf(shape: readonly number[], draw: Draw, spoil: CaseOptions['spoil']): Query {
  const seed = 1 + draw(1 << 20);
  const type = spoil === undefined ? (QUERY_TYPES[draw(3)] as TensorType) : 'f32';
  if (type === 'f16') return f16Tensor(lcgNormal({ seed, shape, dtype: 'f16' }), shape);
  const floats = lcgNormal({ seed, shape, dtype: 'f32' });
  spoil?.(floats);
  if (type === 'f32') return f32Tensor(floats, shape);
  const words = new Uint32Array(floats.buffer, floats.byteOffset, floats.length);
  return { type, shape, data: Uint16Array.from(words, (word) => word >>> 16) };
}
