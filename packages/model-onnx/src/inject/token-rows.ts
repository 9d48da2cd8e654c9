/**
 * Keys and values of one sequence outside of the model and the cache.
 */
import { concatenated } from '../replay/step-run.js';

/** f32, keys as the model caches them: rotated. */
export interface LayerRows {
  /** `[tokens, kvHeads, keyHeadDim]`. */
  readonly key: Float32Array;
  /** `[tokens, kvHeads, valueHeadDim]`. */
  readonly value: Float32Array;
}

/** Consecutive tokens in every layer. */
export interface TokenRows {
  readonly tokens: number;
  readonly layers: readonly LayerRows[];
}

export function noTokens(layers: number): TokenRows {
  const none = { key: new Float32Array(), value: new Float32Array() };
  return { tokens: 0, layers: Array<LayerRows>(layers).fill(none) };
}

/** One after another. */
export function joinedTokens(parts: readonly [TokenRows, ...TokenRows[]]): TokenRows {
  const filled = parts.filter(({ tokens }) => tokens > 0);
  const [only = parts[0], ...others] = filled;
  if (others.length === 0) return only;
  const of = (layer: number, tensor: keyof LayerRows) =>
    concatenated(filled.map(({ layers }) => (layers[layer] as LayerRows)[tensor]));
  return {
    tokens: filled.reduce((sum, { tokens }) => sum + tokens, 0),
    layers: only.layers.map((_, i) => ({ key: of(i, 'key'), value: of(i, 'value') })),
  };
}
