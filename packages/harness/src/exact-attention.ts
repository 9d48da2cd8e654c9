/**
 * Attention in float64 over plain arrays: the ground truth of a comparison. Shares no code with core or a backend.
 */
import type { CaptureSizes } from './capture-data.js';

export interface AttentionInputs {
  /** `[tokens, kvHeads, keyHeadDim]`. */
  readonly key: Float32Array;
  /** `[tokens, kvHeads, valueHeadDim]`. */
  readonly value: Float32Array;
  /** `[queries, queryHeads, keyHeadDim]`. */
  readonly query: Float32Array;
}

export interface ExactAttention {
  /** `[queries, queryHeads, valueHeadDim]`. */
  readonly output: Float64Array;
  /** `[queries, queryHeads]`, natural logarithm. */
  readonly logSumExp: Float64Array;
}

/** Query row r stands at token `tokens - queries + r` and sees the tokens up to its own. Other heads than `only` stay 0. */
export function exactAttention(
  inputs: AttentionInputs,
  sizes: CaptureSizes,
  only?: number,
): ExactAttention {
  const { queryHeads, kvHeads, keyHeadDim, valueHeadDim, tokens, queries, scale } = sizes;
  const output = new Float64Array(queries * queryHeads * valueHeadDim);
  const logSumExp = new Float64Array(queries * queryHeads);
  const group = queryHeads / kvHeads;
  const weights = new Float64Array(tokens);
  const query = new Float64Array(keyHeadDim);
  for (let head = 0; head < queryHeads; head++) {
    if (only !== undefined && head !== only) continue;
    const kvHead = Math.floor(head / group);
    const key = oneHead(inputs.key, kvHead, kvHeads, keyHeadDim, tokens);
    const value = oneHead(inputs.value, kvHead, kvHeads, valueHeadDim, tokens);
    for (let i = 0; i < queries; i++) {
      const row = i * queryHeads + head;
      const visible = tokens - queries + i + 1;
      for (let c = 0; c < keyHeadDim; c++) {
        query[c] = (inputs.query[row * keyHeadDim + c] as number) * scale;
      }
      const largest = dotProducts(key, query, weights, visible);
      let total = 0;
      for (let token = 0; token < visible; token++) {
        const weight = Math.exp((weights[token] as number) - largest);
        weights[token] = weight;
        total += weight;
      }
      weightedSum(
        value,
        weights,
        visible,
        output.subarray(row * valueHeadDim, (row + 1) * valueHeadDim),
      );
      for (let c = row * valueHeadDim; c < (row + 1) * valueHeadDim; c++) {
        output[c] = (output[c] as number) / total;
      }
      logSumExp[row] = largest + Math.log(total);
    }
  }
  return { output, logSumExp };
}

/** `[tokens, dim]` of one head, contiguous. */
function oneHead(
  source: Float32Array,
  head: number,
  heads: number,
  dim: number,
  tokens: number,
): Float32Array {
  const result = new Float32Array(tokens * dim);
  for (let token = 0; token < tokens; token++) {
    const from = (token * heads + head) * dim;
    result.set(source.subarray(from, from + dim), token * dim);
  }
  return result;
}

/** Fills `logits` and returns the largest. Four sums at once: one alone waits for each addition. */
function dotProducts(
  key: Float32Array,
  query: Float64Array,
  logits: Float64Array,
  visible: number,
): number {
  const dim = query.length;
  let largest = Number.NEGATIVE_INFINITY;
  for (let token = 0; token < visible; token++) {
    let k = token * dim;
    let c = 0;
    let a = 0;
    let b = 0;
    let d = 0;
    let e = 0;
    for (; c + 4 <= dim; c += 4, k += 4) {
      a += (query[c] as number) * (key[k] as number);
      b += (query[c + 1] as number) * (key[k + 1] as number);
      d += (query[c + 2] as number) * (key[k + 2] as number);
      e += (query[c + 3] as number) * (key[k + 3] as number);
    }
    for (; c < dim; c++, k++) a += (query[c] as number) * (key[k] as number);
    const logit = a + b + (d + e);
    logits[token] = logit;
    if (logit > largest) largest = logit;
  }
  return largest;
}

function weightedSum(
  value: Float32Array,
  weights: Float64Array,
  visible: number,
  output: Float64Array,
): void {
  const dim = output.length;
  for (let token = 0, v = 0; token < visible; token++) {
    const weight = weights[token] as number;
    for (let c = 0; c < dim; c++, v++) {
      output[c] = (output[c] as number) + weight * (value[v] as number);
    }
  }
}
