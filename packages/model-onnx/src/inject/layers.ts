/**
 * The geometry of a decoder as its past tells it. What only attention needs (scale, soft cap, window) stays at its default:
 * attention is the model's own.
 */
import { type LayerGeometry, LowbitKvError } from '@lowbit-kv/core';
import type { DecoderLayer } from '../decoder/decoder.js';
import type { ModelConfig } from '../model/config.js';
import type { PastLayout } from '../model/past-layout.js';
import type { PastTensor } from './past-tensors.js';

/** Throws MODEL_UNSUPPORTED. */
export function injectedLayers(
  tensors: readonly PastTensor[],
  config: ModelConfig,
): readonly DecoderLayer[] {
  const count = tensors.reduce((sum, { parts }) => sum + parts.length, 0) / 2;
  return Array.from({ length: count }, (_, layer) => ({
    geometry: geometryOf(layer, tensors, config),
    form: 'past-injection',
  }));
}

function geometryOf(
  layer: number,
  tensors: readonly PastTensor[],
  config: ModelConfig,
): LayerGeometry {
  const layoutOf = (wanted: 'key' | 'value') =>
    tensors.find(({ parts }) =>
      parts.some((part) => part.layer === layer && part.tensor === wanted),
    )?.layout as PastLayout;
  const key = layoutOf('key');
  const value = layoutOf('value');
  if (key.heads !== value.heads)
    throw refused(
      'keys and values have different numbers of heads',
      [key.heads, value.heads],
      'as many of both',
    );
  const queryHeads = config.num_attention_heads;
  if (queryHeads == null || queryHeads % key.heads !== 0)
    throw refused(
      'config.json does not say how many query heads share the kv heads of the past',
      { num_attention_heads: queryHeads, kvHeads: key.heads },
      `num_attention_heads, a multiple of ${key.heads}`,
    );
  return {
    queryHeads,
    kvHeads: key.heads,
    keyHeadDim: key.channels,
    valueHeadDim: value.channels,
    scale: key.channels ** -0.5,
    softCap: null,
    slidingWindow: null,
    rotary: null,
  };

  function refused(message: string, got: unknown, valid: string): LowbitKvError {
    return new LowbitKvError('MODEL_UNSUPPORTED', {
      message,
      value: got,
      valid,
      next: 'Take the config.json that came with the model.',
      where: { layer },
    });
  }
}
