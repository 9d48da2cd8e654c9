/**
 * Where offline calibration is measured: the capture's own prefill, or a sample that the replay never caches.
 */
import { type CalibrationSample, decodeF16 } from '@lowbit-kv/core';
import { type CaptureData, positionOf } from './capture-data.js';
import type { CalibrationNote } from './report.js';

/** Tokens per calibration run. */
export const CALIBRATION_RUN_TOKENS = 256;

export interface CalibrationSource {
  readonly note: CalibrationNote;
  /** Runs of every captured layer, numbered by place among the captured layers. May be asked for repeatedly. */
  samples(): AsyncIterable<CalibrationSample>;
}

/** The tokens before the first query; the replay caches them too, so thresholds fit them better than fresh text. */
export function prefillCalibration(data: CaptureData): CalibrationSource {
  // A capture whose queries start at its first token has no prefill: all its tokens are used then.
  const used = positionOf(data.sizes, 0) || data.sizes.tokens;
  return {
    note: {
      source: 'capture',
      description: `first ${used} tokens of the capture, which the replay also caches`,
    },
    samples: () => calibrationRuns(data.layers, data.sizes, used),
  };
}

/** Cuts the first `tokens` tokens of each layer (f16 bits, tokens first) into runs; the last may be shorter. */
export async function* calibrationRuns(
  layers: readonly { readonly key: Uint16Array; readonly value: Uint16Array }[],
  sizes: { readonly kvHeads: number; readonly keyHeadDim: number; readonly valueHeadDim: number },
  tokens: number,
): AsyncGenerator<CalibrationSample> {
  const { kvHeads } = sizes;
  for (let first = 0; first < tokens; first += CALIBRATION_RUN_TOKENS) {
    const end = Math.min(tokens, first + CALIBRATION_RUN_TOKENS);
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
