/**
 * A capture in memory. Read once, shared by all schemes.
 */
import { createHash } from 'node:crypto';
import type { Pause } from '@lowbit-kv/core';
import type { Capture } from './capture.js';
import { type CaptureSizes, type LayerTensors, layerTensors } from './capture-layers.js';
import { type CaptureRotary, type NoRotary, rotaryOf } from './rotary.js';

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
    layers.push(layerTensors(layer, capture, { sizes, rotary }));
  }
  return { sizes, rotary, layers, sha256: hash.digest('hex') };
}
