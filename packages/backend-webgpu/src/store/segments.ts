/**
 * The tokens a sequence shows to attention, as runs over which the sources of keys and of values do not change.
 */
import type { Span, TensorView } from '@lowbit-kv/core';

/** Words of a segment: position, count, then source, page and slot of keys and of values. */
export const SEGMENT_WORDS = 8;

const SOURCES = { packed: 0, window: 1, input: 2 } as const;

/** Where the page of a span begins, in the unit its source is read by. */
export type PageOf = (span: Span) => number;

/** Tokens that both tensors hold, in rising position. Positions that only one of them still has are seen by no query. */
export function segmentsOf(
  key: TensorView,
  value: TensorView,
  keyPage: PageOf,
  valuePage: PageOf,
): number[] {
  const words: number[] = [];
  const [keys, values] = [key.spans, value.spans];
  for (let i = 0, j = 0; i < keys.length && j < values.length; ) {
    const k = keys[i] as Span;
    const v = values[j] as Span;
    const first = Math.max(k.position, v.position);
    const end = Math.min(k.position + k.count, v.position + v.count);
    if (first < end) {
      words.push(first, end - first);
      words.push(SOURCES[k.source], keyPage(k), k.slot + first - k.position);
      words.push(SOURCES[v.source], valuePage(v), v.slot + first - v.position);
    }
    if (k.position + k.count <= end) i++;
    if (v.position + v.count <= end) j++;
  }
  return words;
}
