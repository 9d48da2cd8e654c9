/**
 * Where offline calibration is measured: the capture's own prefill, or a sample that the replay never caches.
 */
import { type CalibrationSample, decodeF16, type Pause } from '@lowbit-kv/core';
import type { CaptureData } from './capture-data.js';
import { type CaptureSizes, positionOf } from './capture-layers.js';
import { keysAt, type Stage } from './pre-rope.js';
import type { CalibrationNote } from './report.js';

/** Tokens per calibration run. */
export const CALIBRATION_RUN_TOKENS = 256;

export interface CalibrationSource {
  readonly note: CalibrationNote;
  /**
   * Runs of every captured layer, numbered by place among the captured layers, with keys at a stage. May be asked for
   * repeatedly. Throws PLAN_REFUSED when keys before the rotary embedding cannot be had.
   */
  samples(stage: Stage): AsyncIterable<CalibrationSample>;
}

/** Keys and values of one layer, f16 bits, tokens first. */
export interface LayerBits {
  readonly key: Uint16Array;
  readonly value: Uint16Array;
}

type Sizes = Pick<CaptureSizes, 'kvHeads' | 'keyHeadDim' | 'valueHeadDim'>;

/** The tokens before the first query; the replay caches them too, so thresholds fit them better than fresh text. */
export function prefillCalibration(data: Pick<CaptureData, 'sizes' | 'layers'>): CalibrationSource {
  // A capture whose queries start at its first token has no prefill: all its tokens are used then.
  const used = positionOf(data.sizes, 0) || data.sizes.tokens;
  return {
    note: {
      source: 'capture',
      description: `first ${used} tokens of the capture, which the replay also caches`,
    },
    samples: (stage) => calibrationRuns(layersAt(data, stage), data.sizes, used),
  };
}

/** Keys and values of every layer, keys at the stage that a scheme stores. */
export function layersAt({ layers }: Pick<CaptureData, 'layers'>, stage: Stage): LayerBits[] {
  return layers.map((layer) => ({ key: keysAt(layer, stage).bits, value: layer.value }));
}

/** Cuts the first `tokens` tokens of each layer into runs; the last may be shorter. */
export async function* calibrationRuns(
  layers: readonly LayerBits[],
  sizes: Sizes,
  tokens: number,
  runTokens = CALIBRATION_RUN_TOKENS,
): AsyncGenerator<CalibrationSample> {
  const { kvHeads } = sizes;
  for (let first = 0; first < tokens; first += runTokens) {
    const end = Math.min(tokens, first + runTokens);
    const part = (bits: Uint16Array, headDim: number) =>
      decodeF16(bits.subarray(first * kvHeads * headDim, end * kvHeads * headDim));
    for (const [layer, { key, value }] of layers.entries()) {
      yield {
        layer,
        tokens: end - first,
        kvHeads,
        key: part(key, sizes.keyHeadDim),
        value: part(value, sizes.valueHeadDim),
      };
    }
  }
}

/** The same items, with a pause before each. */
export async function* pausedBetween<T>(items: AsyncIterable<T>, pause: Pause): AsyncGenerator<T> {
  for await (const item of items) {
    await pause();
    yield item;
  }
}
