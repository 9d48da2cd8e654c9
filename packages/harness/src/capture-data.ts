/**
 * A capture in memory in the order a cache takes it: tokens first. Read once, shared by all schemes.
 */
import { createHash } from 'node:crypto';
import type { Pause } from '@lowbit-kv/core';
import { decodeF16, type Geometry } from '@lowbit-kv/core';
import type { Capture } from './capture.js';
import { captureTensor } from './capture-index.js';
import { preRopeKeys, type StageKeys } from './pre-rope.js';
import { type CaptureRotary, type NoRotary, rotaryOf } from './rotary.js';

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

/** The token at which query row `row` stands. */
export function positionOf({ tokens, queries, stride }: CaptureSizes, row: number): number {
  return tokens - 1 - (queries - 1 - row) * stride;
}

export interface CaptureData {
  readonly sizes: CaptureSizes;
  readonly rotary: CaptureRotary | NoRotary;
  /** Ascending by layer number. */
  readonly layers: readonly LayerTensors[];
  readonly sha256: string;
}

/** Reads a capture and keeps at most `positions` of its queries, evenly spaced, the last among them. */
export async function readCaptureData(
  capture: Capture,
  positions: number,
  pause: Pause = async () => undefined,
): Promise<CaptureData> {
  const { queryHeads, kvHeads, keyHeadDim, valueHeadDim, tokens, scale } = capture;
  const stride = Math.ceil(capture.queries / positions);
  const queries = Math.ceil(capture.queries / stride);
  const sizes = { queryHeads, kvHeads, keyHeadDim, valueHeadDim, tokens, queries, stride, scale };
  const rotary = rotaryOf(capture.provenance, sizes);
  const hash = createHash('sha256');
  const layers: LayerTensors[] = [];
  for (const index of capture.layers) {
    await pause();
    const layer = await capture.readLayer(index);
    for (const part of [layer.key, layer.value, layer.query]) {
      hash.update(new Uint8Array(part.buffer, part.byteOffset, part.byteLength));
    }
    const key = tokensFirst(layer.key, kvHeads, tokens, keyHeadDim);
    const value = tokensFirst(layer.value, kvHeads, tokens, valueHeadDim);
    const exact = { key: decodeF16(key), value: decodeF16(value) };
    const preRope = {
      ...{ sizes, rotary, key: exact.key, file: capture.file },
      captured: layer.keyPreRope && tokensFirst(layer.keyPreRope, kvHeads, tokens, keyHeadDim),
      tensor: captureTensor(index, 'key_pre_rope'),
    };
    layers.push({
      index,
      key,
      value,
      exact,
      preRope: once(() => preRopeKeys(preRope)),
      query: everyNth(
        tokensFirst(layer.query, queryHeads, capture.queries, keyHeadDim),
        queryHeads * keyHeadDim,
        stride,
      ),
    });
  }
  return { sizes, rotary, layers, sha256: hash.digest('hex') };
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** Every `stride`-th row of `width` elements, counted back from the last. */
function everyNth(rows: Float32Array, width: number, stride: number): Float32Array {
  const count = Math.ceil(rows.length / width / stride);
  const kept = new Float32Array(count * width);
  for (let i = 0; i < count; i++) {
    const end = rows.length - i * stride * width;
    kept.set(rows.subarray(end - width, end), (count - 1 - i) * width);
  }
  return kept;
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
