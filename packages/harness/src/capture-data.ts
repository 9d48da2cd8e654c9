/**
 * A capture in memory in the order a cache takes it: tokens first. Read once, shared by all schemes.
 */
import { createHash } from 'node:crypto';
import type { Geometry } from '@lowbit-kv/core';
import type { Capture } from './capture.js';

export interface LayerTensors {
  /** Layer number of the model. */
  readonly index: number;
  /** f16 bits, `[tokens, kvHeads, keyHeadDim]`. */
  readonly key: Uint16Array;
  /** f16 bits, `[tokens, kvHeads, valueHeadDim]`. */
  readonly value: Uint16Array;
  /** `[queries, queryHeads, keyHeadDim]`. */
  readonly query: Float32Array;
}

export interface CaptureSizes {
  readonly queryHeads: number;
  readonly kvHeads: number;
  readonly keyHeadDim: number;
  readonly valueHeadDim: number;
  readonly tokens: number;
  readonly queries: number;
  readonly scale: number;
}

export interface CaptureData {
  readonly sizes: CaptureSizes;
  /** Ascending by layer number. */
  readonly layers: readonly LayerTensors[];
  readonly sha256: string;
}

export async function readCaptureData(capture: Capture): Promise<CaptureData> {
  const { queryHeads, kvHeads, keyHeadDim, valueHeadDim, tokens, queries, scale } = capture;
  const sizes = { queryHeads, kvHeads, keyHeadDim, valueHeadDim, tokens, queries, scale };
  const hash = createHash('sha256');
  const layers: LayerTensors[] = [];
  for (const index of capture.layers) {
    const layer = await capture.readLayer(index);
    for (const part of [layer.key, layer.value, layer.query]) {
      hash.update(new Uint8Array(part.buffer, part.byteOffset, part.byteLength));
    }
    layers.push({
      index,
      key: tokensFirst(layer.key, kvHeads, tokens, keyHeadDim),
      value: tokensFirst(layer.value, kvHeads, tokens, valueHeadDim),
      query: tokensFirst(layer.query, queryHeads, queries, keyHeadDim),
    });
  }
  return { sizes, layers, sha256: hash.digest('hex') };
}

/** The geometry of some layers of these sizes. */
export function geometryOf(sizes: CaptureSizes, layers: number): Geometry {
  const { queryHeads, kvHeads, keyHeadDim, valueHeadDim, scale } = sizes;
  return { layers, queryHeads, kvHeads, keyHeadDim, valueHeadDim, scale };
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
