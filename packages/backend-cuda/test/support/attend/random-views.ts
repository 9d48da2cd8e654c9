/**
 * Random views of sequences, and the plain answer to which tokens a query sees.
 */
import type { AttendSequence, LayerGeometry, Span } from '@lowbit-kv/core';
import { createDraws } from '@lowbit-kv/core/testing';

/** Whole numbers below `end`. */
export type Draw = (end: number) => number;

export function drawsOf(seed: number): Draw {
  const draw = createDraws(seed);
  return (end) => Math.floor(((draw() * 4096 + draw()) / 2 ** 24) * end);
}

const PAGE_SLOTS = { packed: 128, window: 32, input: Number.POSITIVE_INFINITY } as const;

/** Page numbers that both tensors and all sequences of a batch draw from, so that pages are shared. */
const PAGES = 40;

/**
 * What a cache shows: `sinks` of f16, packed tokens up to a point of the tensor's own, the rest f16, the newest from the input. Some
 * pages are gone, and some are shared with other sequences up to a slot in their middle.
 */
function cacheSpans(draw: Draw, length: number, newTokens: number, firstRow: number): Span[] {
  const sinks = draw(3) === 0 ? Math.min(length, draw(40)) : 0;
  const packedEnd = sinks + draw(length - sinks + 1);
  const spans: Span[] = [];
  const add = (source: 'packed' | 'window', first: number, end: number) => {
    const slots = PAGE_SLOTS[source];
    for (let position = first; position < end; ) {
      // A fork that went on in a page of its own.
      const whole = Math.min(slots, end - position);
      const shared = draw(6) === 0 ? 1 + draw(whole) : whole;
      spans.push({ source, page: draw(PAGES), slot: 0, count: shared, position });
      if (shared < whole) {
        const [slot, count, at] = [shared, whole - shared, position + shared];
        spans.push({ source, page: draw(PAGES), slot, count, position: at });
      }
      position += whole;
    }
  };
  const fresh = Math.max(sinks, length - newTokens);
  add('window', 0, sinks);
  add('packed', sinks, Math.min(packedEnd, fresh));
  add('window', Math.min(packedEnd, fresh), fresh);
  if (fresh < length) {
    const slot = firstRow + newTokens - (length - fresh);
    spans.push({ source: 'input', page: -1, slot, count: length - fresh, position: fresh });
  }
  return spans.filter(() => draw(12) > 0);
}

/** Runs of any length from any slot of any source, with gaps. */
function wildSpans(draw: Draw, length: number): Span[] {
  const spans: Span[] = [];
  for (let position = draw(4); position < length; position += draw(3) === 0 ? draw(50) : 0) {
    const source = (['packed', 'window', 'input'] as const)[draw(3)] as Span['source'];
    const slots = Math.min(PAGE_SLOTS[source], 200);
    const slot = draw(slots);
    const count = Math.min(1 + draw(slots - slot), length - position);
    spans.push({ source, page: source === 'input' ? -1 : draw(PAGES), slot, count, position });
    position += count;
  }
  return spans;
}

/** A batch with a draw of lengths: of 0 and 1 too, of several queries, of none. */
export function randomBatch(draw: Draw, most: number, longest: number): AttendSequence[] {
  let firstQuery = 0;
  let firstRow = 0;
  return Array.from({ length: 1 + draw(most) }, () => {
    const length = [0, 1, 1 + draw(40), draw(longest), draw(longest)][draw(5)] as number;
    const newTokens = Math.min(length, [1, 1, 0, 1 + draw(9)][draw(4)] as number);
    const queries = Math.min(length, [1, 1, 1, draw(6)][draw(4)] as number);
    const isWild = draw(3) === 0;
    const spans = () =>
      isWild ? wildSpans(draw, length) : cacheSpans(draw, length, newTokens, firstRow);
    const key = spans();
    // As tensors of equal windows: the same slots of other pages.
    const alike = key.map((span) => ({
      ...span,
      page: span.source === 'input' ? -1 : draw(PAGES),
    }));
    const value = draw(2) === 0 ? alike : spans();
    const sequence: AttendSequence = {
      firstQuery,
      queries: length === 0 ? draw(2) : queries,
      length,
      key: { spans: key, statistics: -1 },
      value: { spans: value, statistics: -1 },
    };
    firstQuery += sequence.queries;
    firstRow += newTokens;
    return sequence;
  });
}

/** The same sequences with up to `most` query tokens each. */
export function withQueries(
  draw: Draw,
  sequences: readonly AttendSequence[],
  most: number,
): AttendSequence[] {
  let firstQuery = 0;
  return sequences.map((sequence) => {
    const queries = Math.min(sequence.length, draw(most + 1));
    const own = { ...sequence, firstQuery, queries };
    firstQuery += queries;
    return own;
  });
}

/** Where a token lies in both tensors, as text. */
export type Places = Map<number, string>;

function placesOf(spans: readonly Span[]): Map<number, string> {
  const places = new Map<number, string>();
  for (const { source, page, slot, count, position } of spans)
    for (let i = 0; i < count; i++) places.set(position + i, `${source} ${page} ${slot + i}`);
  return places;
}

/** Tokens that query `query` of a sequence sees, one after another. */
export function visibleTokens(
  { key, value, length, queries }: AttendSequence,
  query: number,
  window: LayerGeometry['slidingWindow'],
): Places {
  const own = length - queries + query;
  const keys = placesOf(key.spans);
  const values = placesOf(value.spans);
  const seen: Places = new Map();
  for (const [position, place] of keys) {
    const other = values.get(position);
    const isHidden = window !== null && position >= window.sinks && position <= own - window.size;
    if (other !== undefined && position <= own && !isHidden)
      seen.set(position, `${place}, ${other}`);
  }
  return seen;
}
