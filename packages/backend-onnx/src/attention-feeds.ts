/**
 * What the attention graph is fed for one sequence: the pages and tokens its spans name, and where each position lies.
 */
import {
  type AttendSequence,
  canonicalizePage,
  decodeTokens,
  type HostPages,
  type LayerPlan,
  type Span,
  type TensorView,
} from '@lowbit-kv/core';
import type { Feed } from './graph-session.js';
import {
  hasBands,
  isPacked,
  measuredTransforms,
  type PackedPlan,
  thresholdsOf,
} from './packed-plan.js';

const F16_ONE = 0x3c00;

export interface StreamSource {
  readonly pages: HostPages;
  readonly view: TensorView;
  /** f16 bits of this step's rows; spans with source `input` name them. */
  readonly input: Uint16Array | null;
}

/** Feeds for `count` queries from number `first` of the sequence on; `query` holds f32 rows of exactly these. */
export function queryFeeds(
  layer: LayerPlan,
  sequence: AttendSequence,
  first: number,
  count: number,
  query: Float32Array,
): Record<string, Feed> {
  const { queryHeads, keyHeadDim } = layer.geometry;
  const position = sequence.length - sequence.queries + first;
  return {
    query: { type: 'float32', data: query, dims: [count, queryHeads, keyHeadDim] },
    query_positions: integers(Array.from({ length: count }, (_, i) => position + i)),
  };
}

/** Feeds that all queries of a sequence share. */
export function cacheFeeds(key: StreamSource, value: StreamSource): Record<string, Feed> {
  const keyStream = gatherStream(key);
  const valueStream = gatherStream(value);
  const positions: number[] = [];
  const keyIndex: number[] = [];
  const valueIndex: number[] = [];
  // A tensor may have evicted earlier than the other; what only one of them still has, no query sees.
  for (const [position, index] of keyStream.places) {
    const other = valueStream.places.get(position);
    if (other === undefined) continue;
    positions.push(position);
    keyIndex.push(index);
    valueIndex.push(other);
  }
  return {
    ...keyStream.feeds,
    ...valueStream.feeds,
    positions: integers(positions),
    key_index: integers(keyIndex),
    value_index: integers(valueIndex),
  };
}

interface Stream {
  readonly feeds: Record<string, Feed>;
  /** Index in the stream (tokens, then the slots of all pages) by position. */
  readonly places: ReadonlyMap<number, number>;
}

function gatherStream({ pages, view, input }: StreamSource): Stream {
  const { plan } = pages;
  const { tensor, heads, headDim } = plan;
  const packed = view.spans.filter((span) => span.source === 'packed');
  const loose = view.spans.filter((span) => span.source !== 'packed');
  const tokens = pages.gather(loose, input ?? new Uint16Array(0));
  const count = loose.reduce((sum, span) => sum + span.count, 0);
  const feeds: Record<string, Feed> = {
    [`${tensor}_tokens`]: { type: 'float16', data: tokens, dims: [count, heads, headDim] },
  };
  const places = new Map<number, number>();
  const note = (span: Span, first: number) => {
    for (let i = 0; i < span.count; i++) places.set(span.position + i, first + i);
  };
  let next = 0;
  for (const span of loose) {
    note(span, next);
    next += span.count;
  }
  if (isPacked(plan)) {
    for (const span of packed) {
      note(span, next + span.slot);
      next += plan.layout.blockTokens;
    }
    if (plan.codec === undefined) feeds[`${tensor}_pages`] = pagesFeed(pages, plan, packed);
    else feeds[`${tensor}_decoded`] = decodedFeed(pages, plan, packed);
    if (hasBands(plan)) {
      feeds[`${tensor}_thresholds`] = { type: 'float32', data: thresholdsOf(plan), dims: [4] };
      feeds[`${tensor}_valid_tokens`] = {
        type: 'int32',
        data: Int32Array.from(packed, (span) => span.slot + span.count),
        dims: [packed.length],
      };
    }
    if (measuredTransforms(plan).length > 0)
      feeds[`${tensor}_statistics`] = statisticsFeed(pages, view.statistics);
  }
  return { feeds, places };
}

function pagesFeed(pages: HostPages, { layout }: PackedPlan, packed: readonly Span[]): Feed {
  const { pageBytes } = layout;
  const data = new Uint8Array(packed.length * pageBytes);
  for (const [i, span] of packed.entries()) {
    const page = data.subarray(i * pageBytes, (i + 1) * pageBytes);
    page.set(pages.packedPage(span.page));
    // Slots past the visible ones may hold what an abandoned step left.
    canonicalizePage(layout, page, span.slot + span.count);
  }
  return { type: 'uint8', data, dims: [packed.length, pageBytes] };
}

/** f32 `[heads, slots, headDim]`; slots that no query sees are 0. */
function decodedFeed(pages: HostPages, plan: PackedPlan, packed: readonly Span[]): Feed {
  const { heads, headDim, blockTokens } = plan.layout;
  const slots = packed.length * blockTokens;
  const data = new Float32Array(heads * slots * headDim);
  for (const [i, { page, slot, count }] of packed.entries()) {
    for (let head = 0; head < heads; head++) {
      const at = (head * slots + i * blockTokens + slot) * headDim;
      decodeTokens(plan, pages.packedPage(page), head, slot, count, data, at);
    }
  }
  return { type: 'float32', data, dims: [heads, slots, headDim] };
}

/** Before there are any (-1), nothing is packed: values that change nothing stand in. */
export function statisticsFeed(pages: HostPages, page: number): Feed {
  const { heads, headDim } = pages.plan;
  const measured = measuredTransforms(pages.plan);
  const dims = [measured.length, heads, headDim];
  if (page >= 0) return { type: 'float16', data: pages.statisticsPage(page), dims };
  const data = new Uint16Array(measured.length * heads * headDim);
  for (const [plane, { kind }] of measured.entries()) {
    const first = plane * heads * headDim;
    data.fill(kind === 'channelMean' ? 0 : F16_ONE, first, first + heads * headDim);
  }
  return { type: 'float16', data, dims };
}

function integers(values: readonly number[]): Feed {
  return { type: 'int64', data: BigInt64Array.from(values, BigInt), dims: [values.length] };
}
