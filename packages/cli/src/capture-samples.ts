/**
 * The geometry of a capture, and its keys and values as calibration samples.
 */
import {
  type CalibrationSample,
  decodeF16,
  f16Tensor,
  fromBatched,
  type Geometry,
} from '@lowbit-kv/core';
import type { Capture } from '@lowbit-kv/harness';

/** Layers are the captured ones, numbered from 0. */
export function geometryOf(capture: Capture): Geometry {
  const { layers, queryHeads, kvHeads, keyHeadDim, valueHeadDim, scale } = capture;
  return { layers: layers.length, queryHeads, kvHeads, keyHeadDim, valueHeadDim, scale };
}

/** All tokens of every captured layer. */
export async function* samplesOf(capture: Capture): AsyncGenerator<CalibrationSample> {
  const { kvHeads, tokens, keyHeadDim, valueHeadDim } = capture;
  const ragged = (bits: Uint16Array, headDim: number) =>
    decodeF16(fromBatched(f16Tensor(bits, [1, kvHeads, tokens, headDim])).data as Uint16Array);
  for (const [layer, number] of capture.layers.entries()) {
    const { key, value } = await capture.readLayer(number);
    yield {
      layer,
      tokens,
      kvHeads,
      key: ragged(key, keyHeadDim),
      value: ragged(value, valueHeadDim),
    };
  }
}
