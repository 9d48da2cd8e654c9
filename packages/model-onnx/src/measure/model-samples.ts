/**
 * Keys and values of a model over a text: what offline calibration is measured on.
 */
import { type CalibrationSample, LowbitKvError } from '@lowbit-kv/core';
import type { Decoder, LayerTensors } from '../decoder/decoder.js';
import type { AttentionSessions } from '../replay/attention-graph.js';
import { plainAttend } from '../replay/plain-attention.js';

export interface ModelSampleOptions {
  /** Tokens of each run, every one on its own from an empty past. */
  readonly runTokens: number;
  /** Keys before or after the rotary embedding. */
  readonly stage: 'pre-rope' | 'post-rope';
  readonly onRun?: (run: number, runs: number) => void;
  readonly signal?: AbortSignal;
}

/**
 * A sample per run and layer, runs in order; the last run may be shorter. Throws PLAN_REFUSED where keys before the
 * rotary embedding cannot be had, and what the signal aborts with.
 */
export async function* modelSamples(
  decoder: Decoder,
  sessions: AttentionSessions,
  tokens: readonly number[],
  { runTokens, stage, onRun, signal }: ModelSampleOptions,
): AsyncGenerator<CalibrationSample> {
  const attend = plainAttend(decoder, sessions);
  const runs = Math.ceil(tokens.length / runTokens);
  for (let run = 0; run < runs; run++) {
    const part = tokens.slice(run * runTokens, (run + 1) * runTokens);
    const layers: LayerTensors[] = [];
    await decoder.forward(part, {
      position: 0,
      attend: (layer, tensors) => {
        signal?.throwIfAborted();
        layers.push(tensors);
        return attend(layer, tensors);
      },
    });
    for (const [layer, tensors] of layers.entries()) {
      yield {
        layer,
        tokens: part.length,
        kvHeads: decoder.layers[layer]?.geometry.kvHeads ?? 0,
        key: stage === 'post-rope' ? tensors.key : preRopeOf(tensors, layer),
        value: tensors.value,
      };
    }
    onRun?.(run + 1, runs);
  }
}

function preRopeOf({ keyPreRope }: LayerTensors, layer: number): Float32Array {
  if (keyPreRope !== null) return keyPreRope;
  throw new LowbitKvError('PLAN_REFUSED', {
    message: 'the model gives its keys after the rotary embedding only',
    value: 'pre-rope',
    valid: 'schemes that store rotated keys',
    next: 'Export the model with the embedding inside of attention, or choose another scheme.',
    where: { layer },
  });
}
