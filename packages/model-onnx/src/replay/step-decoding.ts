/**
 * The true loop: one step per token through a cache of the whole model on any backend. What replay must equal.
 */
import { type Cache, f32Tensor, type Plan, type Sequence, type Step } from '@lowbit-kv/core';
import { type Attend, type Decoder, layerGeometry } from '../decoder/decoder.js';
import type { ExtendOptions } from '../generate/token-run.js';
import { storedKeys } from './stored-keys.js';

/** Attention of a decoder through a step of a cache: appends the layer's keys and values, then attends. */
export function attendInStep(
  plan: Plan,
  { layers }: Pick<Decoder, 'layers'>,
  step: Step,
  signal?: AbortSignal,
): Attend {
  return async (layer, tensors) => {
    signal?.throwIfAborted();
    const geometry = layerGeometry({ layers }, layer);
    const { queryHeads, kvHeads, keyHeadDim, valueHeadDim } = geometry;
    const { rows } = step;
    step.append(
      layer,
      f32Tensor(storedKeys(plan, layer, tensors), [rows, kvHeads, keyHeadDim]),
      f32Tensor(tensors.value, [rows, kvHeads, valueHeadDim]),
    );
    const query = f32Tensor(tensors.query, [rows, queryHeads, keyHeadDim]);
    const { output } = await step.attend(layer, query).read();
    return output.data as Float32Array;
  };
}

/** Runs new tokens of a sequence through the decoder in one step of the cache. A failed step leaves the sequence as it was. */
export async function decodeStep(
  decoder: Decoder,
  cache: Cache,
  sequence: Sequence,
  tokens: readonly number[],
  { signal, ...options }: ExtendOptions = {},
): Promise<void> {
  const step = cache.step([{ sequence, tokens: tokens.length }]);
  try {
    await decoder.forward(tokens, {
      ...options,
      position: sequence.length,
      attend: attendInStep(cache.plan, decoder, step, signal),
    });
    await step.commit();
  } finally {
    step.abandon();
  }
}
