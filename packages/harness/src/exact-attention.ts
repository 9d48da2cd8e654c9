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

/** Queries computed side by side: one running sum alone waits for each addition. */
const SIDE_BY_SIDE = 4;

/** Query row r stands at token `tokens - queries + r` and sees the tokens up to its own. Other heads than `only` stay 0. */
export function exactAttention(
  inputs: AttentionInputs,
  sizes: CaptureSizes,
  only?: number,
): ExactAttention {
  const { queryHeads, kvHeads, keyHeadDim, valueHeadDim, tokens, queries, scale } = sizes;
  const output = new Float64Array(queries * queryHeads * valueHeadDim);
  const logSumExp = new Float64Array(queries * queryHeads);
  // [SIDE_BY_SIDE, tokens], [SIDE_BY_SIDE, dim]; rows past the last query stay 0.
  const weights = new Float64Array(SIDE_BY_SIDE * tokens);
  const query = new Float64Array(SIDE_BY_SIDE * keyHeadDim);
  const sums = new Float64Array(SIDE_BY_SIDE * valueHeadDim);
  for (let head = 0; head < queryHeads; head++) {
    if (only !== undefined && head !== only) continue;
    const kvHead = Math.floor((head * kvHeads) / queryHeads);
    const key = oneHead(inputs.key, kvHead, kvHeads, keyHeadDim, tokens);
    const value = oneHead(inputs.value, kvHead, kvHeads, valueHeadDim, tokens);
    for (let first = 0; first < queries; first += SIDE_BY_SIDE) {
      const count = Math.min(SIDE_BY_SIDE, queries - first);
      const visible = tokens - queries + first + count;
      query.fill(0);
      for (let i = 0; i < count; i++) {
        const from = ((first + i) * queryHeads + head) * keyHeadDim;
        for (let c = 0; c < keyHeadDim; c++) {
          query[i * keyHeadDim + c] = (inputs.query[from + c] as number) * scale;
        }
      }
      dotProducts(key, query, weights, visible);
      for (let i = 0; i < count; i++) {
        const row = weights.subarray(i * tokens, i * tokens + visible);
        logSumExp[(first + i) * queryHeads + head] = normalise(row, visible - count + i + 1);
      }
      weightedSums(value, weights, sums, visible);
      for (let i = 0; i < count; i++) {
        const to = ((first + i) * queryHeads + head) * valueHeadDim;
        output.set(sums.subarray(i * valueHeadDim, (i + 1) * valueHeadDim), to);
      }
    }
  }
  return { output, logSumExp };
}

/** Logits of the first `seen` tokens become softmax weights, the others 0. Returns the log-sum-exp. */
function normalise(row: Float64Array, seen: number): number {
  let largest = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < seen; i++) largest = Math.max(largest, row[i] as number);
  let total = 0;
  for (let i = 0; i < seen; i++) {
    const weight = Math.exp((row[i] as number) - largest);
    row[i] = weight;
    total += weight;
  }
  for (let i = 0; i < seen; i++) row[i] = (row[i] as number) / total;
  row.fill(0, seen);
  return largest + Math.log(total);
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

function dotProducts(
  key: Float32Array,
  query: Float64Array,
  logits: Float64Array,
  visible: number,
): void {
  const dim = query.length / SIDE_BY_SIDE;
  const tokens = logits.length / SIDE_BY_SIDE;
  for (let token = 0; token < visible; token++) {
    let a = 0;
    let b = 0;
    let c = 0;
    let d = 0;
    for (let q = 0, k = token * dim; q < dim; q++, k++) {
      const x = key[k] as number;
      a += x * (query[q] as number);
      b += x * (query[q + dim] as number);
      c += x * (query[q + 2 * dim] as number);
      d += x * (query[q + 3 * dim] as number);
    }
    logits[token] = a;
    logits[token + tokens] = b;
    logits[token + 2 * tokens] = c;
    logits[token + 3 * tokens] = d;
  }
}

function weightedSums(
  value: Float32Array,
  weights: Float64Array,
  sums: Float64Array,
  visible: number,
): void {
  const dim = sums.length / SIDE_BY_SIDE;
  const tokens = weights.length / SIDE_BY_SIDE;
  for (let channel = 0; channel < dim; channel++) {
    let a = 0;
    let b = 0;
    let c = 0;
    let d = 0;
    for (let w = 0, v = channel; w < visible; w++, v += dim) {
      const x = value[v] as number;
      a += x * (weights[w] as number);
      b += x * (weights[w + tokens] as number);
      c += x * (weights[w + 2 * tokens] as number);
      d += x * (weights[w + 3 * tokens] as number);
    }
    sums[channel] = a;
    sums[channel + dim] = b;
    sums[channel + 2 * dim] = c;
    sums[channel + 3 * dim] = d;
  }
}
