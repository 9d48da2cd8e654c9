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

/** Rows computed side by side: one running sum alone waits for each addition. */
const SIDE_BY_SIDE = 4;

/** Each query sees the tokens up to its own. Other heads than `only` stay 0. */
export function exactAttention(
  inputs: AttentionInputs,
  sizes: CaptureSizes,
  only?: number,
): ExactAttention {
  const { queryHeads, kvHeads, keyHeadDim, valueHeadDim, tokens, queries, scale } = sizes;
  const output = new Float64Array(queries * queryHeads * valueHeadDim);
  const logSumExp = new Float64Array(queries * queryHeads);
  // [SIDE_BY_SIDE, tokens], [SIDE_BY_SIDE, dim]; rows past the last stay 0.
  const weights = new Float64Array(SIDE_BY_SIDE * tokens);
  const query = new Float64Array(SIDE_BY_SIDE * keyHeadDim);
  const sums = new Float64Array(SIDE_BY_SIDE * valueHeadDim);
  for (let kvHead = 0; kvHead < kvHeads; kvHead++) {
    const key = headOf(inputs.key, kvHead, kvHeads, keyHeadDim);
    const value = headOf(inputs.value, kvHead, kvHeads, valueHeadDim);
    const rows = rowsOf(kvHead, sizes, only);
    for (let first = 0; first < rows.length; first += SIDE_BY_SIDE) {
      const some = rows.slice(first, first + SIDE_BY_SIDE);
      const seen = some.map((row) => positionOf(sizes, Math.floor(row / queryHeads)) + 1);
      const visible = seen.at(-1) as number;
      query.fill(0);
      for (const [i, row] of some.entries()) {
        const from = row * keyHeadDim;
        for (let c = 0; c < keyHeadDim; c++) {
          query[i * keyHeadDim + c] = (inputs.query[from + c] as number) * scale;
        }
      }
      dotProducts(key, query, weights, visible);
      for (const [i, row] of some.entries()) {
        const logits = weights.subarray(i * tokens, i * tokens + visible);
        logSumExp[row] = normalise(logits, seen[i] as number);
      }
      weightedSums(value, weights, sums, visible);
      for (const [i, row] of some.entries()) {
        output.set(sums.subarray(i * valueHeadDim, (i + 1) * valueHeadDim), row * valueHeadDim);
      }
    }
  }
  return { output, logSumExp };
}

/** Rows of `[queries, queryHeads]` that read a kv head, by rising query; of one query head when `only` is given. */
function rowsOf(kvHead: number, sizes: CaptureSizes, only: number | undefined): number[] {
  const { queryHeads, kvHeads, queries } = sizes;
  const group = queryHeads / kvHeads;
  const heads = Array.from({ length: group }, (_, i) => kvHead * group + i).filter(
    (head) => only === undefined || head === only,
  );
  return Array.from({ length: queries }, (_, query) =>
    heads.map((head) => query * queryHeads + head),
  ).flat();
}

/** One head of `[tokens, heads, dim]`, where it lies. */
interface HeadRows {
  readonly values: Float32Array;
  readonly offset: number;
  /** Elements from token to token. */
  readonly stride: number;
}

function headOf(values: Float32Array, head: number, heads: number, dim: number): HeadRows {
  return { values, offset: head * dim, stride: heads * dim };
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

function dotProducts(
  { values, offset, stride }: HeadRows,
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
    for (
      let q = 0, k = offset + token * stride, next = k + step * stride;
      q < dim;
      q++, k++, next++
    ) {
      const x = values[k] as number;
      const y = values[next] as number;
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
  { values, offset, stride }: HeadRows,
  weights: Float64Array,
  sums: Float64Array,
  visible: number,
): void {
  const dim = sums.length / SIDE_BY_SIDE;
  const tokens = weights.length / SIDE_BY_SIDE;
  sums.fill(0);
  for (let token = 0; token < visible; token += 2) {
    // Of an odd count the last token is added once more, with weight 0.
    const step = token + 1 < visible ? 1 : 0;
    const a0 = weights[token] as number;
    const b0 = weights[token + tokens] as number;
    const c0 = weights[token + 2 * tokens] as number;
    const d0 = weights[token + 3 * tokens] as number;
    const a1 = step * (weights[token + step] as number);
    const b1 = step * (weights[token + step + tokens] as number);
    const c1 = step * (weights[token + step + 2 * tokens] as number);
    const d1 = step * (weights[token + step + 3 * tokens] as number);
    const v = offset + token * stride;
    const next = v + step * stride;
    for (let o = 0; o < dim; o++) {
      const x = values[v + o] as number;
      const y = values[next + o] as number;
      sums[o] = (sums[o] as number) + a0 * x + a1 * y;
      sums[o + dim] = (sums[o + dim] as number) + b0 * x + b1 * y;
      sums[o + 2 * dim] = (sums[o + 2 * dim] as number) + c0 * x + c1 * y;
      sums[o + 3 * dim] = (sums[o + 3 * dim] as number) + d0 * x + d1 * y;
    }
  }
}
