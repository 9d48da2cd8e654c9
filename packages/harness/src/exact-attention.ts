/**
 * Attention in float64 over plain arrays: the ground truth of a comparison. Shares no code with core or a backend.
 */
import { type CaptureSizes, positionOf } from './capture-data.js';

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

/** Each query sees the tokens up to its own. Other heads than `only` stay 0. */
export function exactAttention(
  inputs: AttentionInputs,
  sizes: CaptureSizes,
  only?: number,
): ExactAttention {
  const { queryHeads, kvHeads, keyHeadDim, valueHeadDim, tokens, queries, scale } = sizes;
  const seenBy = (row: number) => positionOf(sizes, row) + 1;
  const output = new Float64Array(queries * queryHeads * valueHeadDim);
  const logSumExp = new Float64Array(queries * queryHeads);
  // [SIDE_BY_SIDE, tokens], [SIDE_BY_SIDE, dim]; rows past the last query stay 0.
  const weights = new Float64Array(SIDE_BY_SIDE * tokens);
  const query = new Float64Array(SIDE_BY_SIDE * keyHeadDim);
  const sums = new Float64Array(SIDE_BY_SIDE * valueHeadDim);
  let key: Float32Array = new Float32Array(0);
  let value = key;
  let loaded = -1;
  for (let head = 0; head < queryHeads; head++) {
    if (only !== undefined && head !== only) continue;
    const kvHead = Math.floor((head * kvHeads) / queryHeads);
    if (kvHead !== loaded) {
      key = oneHead(inputs.key, kvHead, kvHeads, keyHeadDim, tokens);
      value = oneHead(inputs.value, kvHead, kvHeads, valueHeadDim, tokens);
      loaded = kvHead;
    }
    for (let first = 0; first < queries; first += SIDE_BY_SIDE) {
      const count = Math.min(SIDE_BY_SIDE, queries - first);
      const visible = seenBy(first + count - 1);
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
        logSumExp[(first + i) * queryHeads + head] = normalise(row, seenBy(first + i));
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
  for (let token = 0; token < visible; token += 2) {
    // Of an odd count the last token is computed twice.
    const step = token + 1 < visible ? 1 : 0;
    let a0 = 0;
    let a1 = 0;
    let b0 = 0;
    let b1 = 0;
    let c0 = 0;
    let c1 = 0;
    let d0 = 0;
    let d1 = 0;
    for (let q = 0, k = token * dim, next = k + step * dim; q < dim; q++, k++, next++) {
      const x = key[k] as number;
      const y = key[next] as number;
      const a = query[q] as number;
      const b = query[q + dim] as number;
      const c = query[q + 2 * dim] as number;
      const d = query[q + 3 * dim] as number;
      a0 += x * a;
      b0 += x * b;
      c0 += x * c;
      d0 += x * d;
      a1 += y * a;
      b1 += y * b;
      c1 += y * c;
      d1 += y * d;
    }
    logits[token] = a0;
    logits[token + step] = a1;
    logits[token + tokens] = b0;
    logits[token + step + tokens] = b1;
    logits[token + 2 * tokens] = c0;
    logits[token + step + 2 * tokens] = c1;
    logits[token + 3 * tokens] = d0;
    logits[token + step + 3 * tokens] = d1;
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
  sums.fill(0);
  for (let token = 0; token < visible; token++) {
    const a = weights[token] as number;
    const b = weights[token + tokens] as number;
    const c = weights[token + 2 * tokens] as number;
    const d = weights[token + 3 * tokens] as number;
    for (let o = 0, v = token * dim; o < dim; o++, v++) {
      const x = value[v] as number;
      sums[o] = (sums[o] as number) + a * x;
      sums[o + dim] = (sums[o + dim] as number) + b * x;
      sums[o + 2 * dim] = (sums[o + 2 * dim] as number) + c * x;
      sums[o + 3 * dim] = (sums[o + 3 * dim] as number) + d * x;
    }
  }
}
