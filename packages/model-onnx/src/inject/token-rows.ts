/**
 * Keys and values of one sequence outside of the model and the cache.
 */

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
  const [first, ...others] = parts;
  if (others.length === 0) return first;
  const of = (layer: number, tensor: keyof LayerRows) =>
    joined(parts.map(({ layers }) => (layers[layer] as LayerRows)[tensor]));
  return {
    tokens: parts.reduce((sum, { tokens }) => sum + tokens, 0),
    layers: first.layers.map((_, i) => ({ key: of(i, 'key'), value: of(i, 'value') })),
  };
}

function joined(parts: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
