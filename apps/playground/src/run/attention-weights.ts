/** The weights that one query gives to the tokens it sees: softmax in float64. */
import { type CaptureSizes, positionOf } from '@lowbit-kv/harness/browser';

export interface QueryPlace {
  /** Row among the kept queries. */
  readonly query: number;
  readonly queryHead: number;
}

/** `keys` is `[tokens, kvHeads, keyHeadDim]`, `queries` `[queries, queryHeads, keyHeadDim]`; one weight for each token seen. */
export function attentionWeights(
  keys: Float32Array,
  queries: Float32Array,
  { query, queryHead }: QueryPlace,
  sizes: CaptureSizes,
): Float64Array {
  const { queryHeads, kvHeads, keyHeadDim: dim, scale } = sizes;
  const kvHead = Math.floor(queryHead / (queryHeads / kvHeads));
  const weights = new Float64Array(positionOf(sizes, query) + 1);
  const q = (query * queryHeads + queryHead) * dim;
  let largest = Number.NEGATIVE_INFINITY;
  for (let token = 0; token < weights.length; token++) {
    const k = (token * kvHeads + kvHead) * dim;
    let dot = 0;
    for (let c = 0; c < dim; c++) dot += (keys[k + c] as number) * (queries[q + c] as number);
    weights[token] = dot * scale;
    largest = Math.max(largest, dot * scale);
  }
  let sum = 0;
  for (let token = 0; token < weights.length; token++) {
    weights[token] = Math.exp((weights[token] as number) - largest);
    sum += weights[token] as number;
  }
  return weights.map((weight) => weight / sum);
}

/** Tokens by falling weight. */
export function mostAttended(weights: Float64Array, count: number): number[] {
  return [...weights.keys()]
    .sort((a, b) => (weights[b] as number) - (weights[a] as number))
    .slice(0, count);
}
