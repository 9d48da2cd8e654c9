/**
 * Keys at the stage that a plan stores them.
 */
import { LowbitKvError, type Plan } from '@lowbit-kv/core';
import type { LayerTensors } from '../decoder/decoder.js';

/**
 * Keys of a layer of a plan as its cache takes them. `modelLayer` is its number in the model. Throws PLAN_REFUSED when
 * they are wanted before the rotary embedding and the decoder cannot give that.
 */
export function storedKeys(
  plan: Plan,
  layer: number,
  { key, keyPreRope }: LayerTensors,
  modelLayer = layer,
): Float32Array {
  const planned = plan.layers.find((unit) => unit.layer === layer)?.key.scheme;
  if (planned === undefined || planned.bits === 16 || planned.stage !== 'pre-rope') return key;
  if (keyPreRope !== null) return keyPreRope;
  throw new LowbitKvError('PLAN_REFUSED', {
    message:
      'the scheme stores keys before the rotary embedding, and this model gives them after it',
    value: plan.scheme.id,
    valid: 'a scheme that stores rotated keys',
    next: 'Choose another scheme, or export the model with GroupQueryAttention and the embedding inside.',
    where: { layer: modelLayer },
  });
}
