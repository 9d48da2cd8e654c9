/**
 * Layers of a capture in the order a cache takes them, tokens first, and the sizes that they share.
 */
import { decodeF16, type Geometry } from '@lowbit-kv/core';
import type { Capture, CaptureLayer } from './capture.js';
import { captureTensor } from './capture-index.js';
import { preRopeKeys, type StageKeys } from './pre-rope.js';
import type { CaptureRotary, NoRotary } from './rotary.js';

export interface LayerTensors {
  /** Layer number of the model. */
  readonly index: number;
  /** f16 bits, `[tokens, kvHeads, keyHeadDim]`. */
  readonly key: Uint16Array;
  /** f16 bits, `[tokens, kvHeads, valueHeadDim]`. */
  readonly value: Uint16Array;
  /** `key` and `value` as numbers: what every error is measured against. */
  readonly exact: { readonly key: Float32Array; readonly value: Float32Array };
  /** `[queries, queryHeads, keyHeadDim]`: the attended ones. */
  readonly query: Float32Array;
  /** Keys before the rotary embedding, made when first asked for. Throws as `preRopeKeys` does. */
  readonly preRope: () => StageKeys;
}

export interface CaptureSizes {
  readonly queryHeads: number;
  readonly kvHeads: number;
  readonly keyHeadDim: number;
  readonly valueHeadDim: number;
  readonly tokens: number;
  /** Attended query positions. */
  readonly queries: number;
  /** They are this many tokens apart, and the last is the last token. */
  readonly stride: number;
  readonly scale: number;
}

/** What the layers of a source have in common. */
export interface LayerSource {
  readonly sizes: CaptureSizes;
  readonly rotary: CaptureRotary | NoRotary;
  /** What errors call the source. */
  readonly file: string;
}

/** The token at which query row `row` stands. */
export function positionOf({ tokens, queries, stride }: CaptureSizes, row: number): number {
  return tokens - 1 - (queries - 1 - row) * stride;
}

/** A layer that was read from a capture; of its queries those that `sizes` names, counted back from the last. */
export function layerTensors(
  { index, key, value, query, keyPreRope }: CaptureLayer,
  capture: Pick<Capture, 'queries' | 'file'>,
  { sizes, rotary }: Pick<LayerSource, 'sizes' | 'rotary'>,
): LayerTensors {
  const { queryHeads, kvHeads, keyHeadDim, valueHeadDim, tokens } = sizes;
  const queries = tokensFirst(query, queryHeads, capture.queries, keyHeadDim);
  const bits = {
    index,
    key: tokensFirst(key, kvHeads, tokens, keyHeadDim),
    value: tokensFirst(value, kvHeads, tokens, valueHeadDim),
    query: lastRows(queries, queryHeads * keyHeadDim, sizes),
    keyPreRope: keyPreRope && tokensFirst(keyPreRope, kvHeads, tokens, keyHeadDim),
  };
  return layerOfBits(bits, { sizes, rotary, file: capture.file });
}

/** f16 bits and queries, tokens first. */
export interface LayerBits {
  readonly index: number;
  readonly key: Uint16Array;
  readonly value: Uint16Array;
  readonly query: Float32Array;
  /** Keys before the rotary embedding, where the source has them. */
  readonly keyPreRope?: Uint16Array | undefined;
}

export function layerOfBits(
  { index, key, value, query, keyPreRope }: LayerBits,
  source: LayerSource,
): LayerTensors {
  const exact = { key: decodeF16(key), value: decodeF16(value) };
  const preRope = {
    ...source,
    key: exact.key,
    captured: keyPreRope,
    tensor: captureTensor(index, 'key_pre_rope'),
  };
  return { index, key, value, exact, query, preRope: once(() => preRopeKeys(preRope)) };
}

/** The geometry of some layers of these sizes, with the rotary embedding when it is known. */
export function geometryOf(
  {
    sizes,
    rotary,
  }: {
    readonly sizes: Pick<
      CaptureSizes,
      'queryHeads' | 'kvHeads' | 'keyHeadDim' | 'valueHeadDim' | 'scale'
    >;
    readonly rotary: CaptureRotary | NoRotary;
  },
  layers: number,
): Geometry {
  const { queryHeads, kvHeads, keyHeadDim, valueHeadDim, scale } = sizes;
  const shape = { layers, queryHeads, kvHeads, keyHeadDim, valueHeadDim, scale };
  return 'given' in rotary ? { ...shape, rotary: rotary.given } : shape;
}

/** `[heads, tokens, dim]` to `[tokens, heads, dim]`. */
export function tokensFirst<T extends Uint16Array | Float32Array>(
  source: T,
  heads: number,
  tokens: number,
  dim: number,
): T {
  const result = source.slice() as T;
  for (let head = 0; head < heads; head++) {
    for (let token = 0; token < tokens; token++) {
      const from = (head * tokens + token) * dim;
      result.set(source.subarray(from, from + dim), (token * heads + head) * dim);
    }
  }
  return result;
}

/** `queries` rows of `width` elements, `stride` apart, the last among them. */
function lastRows(
  rows: Float32Array,
  width: number,
  { queries, stride }: Pick<CaptureSizes, 'queries' | 'stride'>,
): Float32Array {
  const kept = new Float32Array(queries * width);
  for (let i = 0; i < queries; i++) {
    const end = rows.length - i * stride * width;
    kept.set(rows.subarray(end - width, end), (queries - 1 - i) * width);
  }
  return kept;
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
