/**
 * The tokens a sequence shows to attention, as runs over which the sources of keys and of values do not change.
 */
import type { Span, TensorView } from '@lowbit-kv/core';
import type { TensorMemory } from './tensor-memory.js';

/** Words of a segment: position, count, then source, page and slot of keys and of values. */
export const SEGMENT_WORDS = 8;

export const SOURCES = { packed: 0, window: 1, input: 2 } as const;

/** What tells where the pages of a tensor begin, and the new tokens of a step in its input. */
export interface TensorPlace {
  readonly memory: TensorMemory;
  /** First half of the tensor in the input. */
  readonly inputHalf: number;
}

/** SEGMENT_WORDS words for each segment. */
export interface Segments {
  readonly words: Uint32Array;
  /** How many come first that both tensors hold in the same slots of packed pages; none where they are not told apart. */
  readonly pages: number;
  /** Tokens of the others, where they are told apart. */
  readonly restTokens: number;
}

interface KnownSegments {
  readonly values: readonly Span[];
  readonly place: string;
  readonly segments: Segments;
}

/** Tokens of a segment that is no page: no more than lanes of integer-rest.wgsl, and few, so that workgroups can share them. */
const REST_TOKENS = 16;

/**
 * Segments of views, kept as long as the views are: the layers of a step see the same ones, and a long sequence has
 * thousands.
 */
export class SegmentTables {
  readonly #known = new WeakMap<readonly Span[], KnownSegments[]>();

  /** `apart`: whether pages come first, and what is none in short segments. */
  of(
    { key, value }: { readonly key: TensorView; readonly value: TensorView },
    keyPlace: TensorPlace,
    valuePlace: TensorPlace,
    apart: boolean,
  ): Segments {
    const place = `${placeOf(keyPlace)},${placeOf(valuePlace)},${apart}`;
    const known = this.#known.get(key.spans) ?? [];
    const found = known.find((entry) => entry.values === value.spans && entry.place === place);
    if (found !== undefined) return found.segments;
    const words = segmentsOf(key.spans, value.spans, pageOf(keyPlace), pageOf(valuePlace));
    const segments = apart ? pagesFirst(words) : { words, pages: 0, restTokens: 0 };
    known.push({ values: value.spans, place, segments });
    this.#known.set(key.spans, known);
    return segments;
  }
}

/** Equal for tensors whose pages of equal numbers begin at equal places. */
function placeOf({ memory, inputHalf }: TensorPlace): string {
  return [
    memory.byteOf('packed', 0),
    memory.sizeOf('packed'),
    memory.byteOf('window', 0),
    memory.sizeOf('window'),
    inputHalf,
  ].join();
}

/** Where the page of a span begins, in the unit its source is read by. */
type PageOf = (span: Span) => number;

function pageOf({ memory, inputHalf }: TensorPlace): PageOf {
  return ({ source, page }) => {
    if (source === 'packed') return memory.wordOf('packed', page);
    return source === 'window' ? memory.halfOf('window', page) : inputHalf;
  };
}

type Segment = readonly [number, number, number, number, number, number, number, number];

/** Tokens that both tensors hold, in rising position. Positions that only one of them still has are seen by no query. */
function segmentsOf(
  keys: readonly Span[],
  values: readonly Span[],
  keyPage: PageOf,
  valuePage: PageOf,
): Uint32Array {
  // Each segment but the last ends a span.
  const words = new Uint32Array((keys.length + values.length) * SEGMENT_WORDS);
  let at = 0;
  for (let i = 0, j = 0; i < keys.length && j < values.length; ) {
    const k = keys[i] as Span;
    const v = values[j] as Span;
    const first = Math.max(k.position, v.position);
    const end = Math.min(k.position + k.count, v.position + v.count);
    if (first < end) {
      words[at] = first;
      words[at + 1] = end - first;
      words[at + 2] = SOURCES[k.source];
      words[at + 3] = keyPage(k);
      words[at + 4] = k.slot + first - k.position;
      words[at + 5] = SOURCES[v.source];
      words[at + 6] = valuePage(v);
      words[at + 7] = v.slot + first - v.position;
      at += SEGMENT_WORDS;
    }
    if (k.position + k.count <= end) i++;
    if (v.position + v.count <= end) j++;
  }
  return words.slice(0, at);
}

function pagesFirst(all: Uint32Array): Segments {
  const pages: number[] = [];
  const rest: number[] = [];
  let restTokens = 0;
  for (let at = 0; at < all.length; at += SEGMENT_WORDS) {
    const segment = all.subarray(at, at + SEGMENT_WORDS);
    if (isPage(segment)) pages.push(...segment);
    else {
      rest.push(...pieces(segment));
      restTokens += segment[1] as number;
    }
  }
  const words = Uint32Array.from([...pages, ...rest]);
  return { words, pages: pages.length / SEGMENT_WORDS, restTokens };
}

function isPage(segment: Uint32Array): boolean {
  return (
    segment[2] === SOURCES.packed && segment[5] === SOURCES.packed && segment[4] === segment[7]
  );
}

function* pieces(segment: Uint32Array): Generator<number> {
  const [position, count, keySource, keyPage, keySlot, valueSource, valuePage, valueSlot] =
    segment as unknown as Segment;
  for (let first = 0; first < count; first += REST_TOKENS) {
    yield* [position + first, Math.min(REST_TOKENS, count - first)];
    yield* [keySource, keyPage, keySlot + first, valueSource, valuePage, valueSlot + first];
  }
}
