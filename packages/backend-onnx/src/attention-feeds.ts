/**
 * What the attention graph is fed for one sequence: the pages and tokens its spans name, and where each position lies.
 */
import {
  type AttendSequence,
  canonicalizePage,
  type HostPages,
  type LayerPlan,
  type Span,
  type TensorView,
} from '@lowbit-kv/core';
import type { Feed } from './graph-session.js';
import { hasBands, isPacked, measuredTransforms, thresholdsOf } from './packed-plan.js';

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
    const { layout } = plan;
    const bytes = new Uint8Array(packed.length * layout.pageBytes);
    for (const [i, span] of packed.entries()) {
      const page = bytes.subarray(i * layout.pageBytes, (i + 1) * layout.pageBytes);
      page.set(pages.packedPage(span.page));
      // Slots past the visible ones may hold what an abandoned step left.
      canonicalizePage(layout, page, span.slot + span.count);
      note(span, next + span.slot);
      next += layout.blockTokens;
    }
    feeds[`${tensor}_pages`] = {
      type: 'uint8',
      data: bytes,
      dims: [packed.length, layout.pageBytes],
    };
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
