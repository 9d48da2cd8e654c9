/**
 * The inner loops of float64 attention over plain arrays, for rows (a query of a query head) that read one kv head.
 */
import { type CaptureSizes, positionOf } from './capture-layers.js';

/** Rows computed side by side: one running sum alone waits for each addition. */
export const SIDE_BY_SIDE = 4;

/** One head of `[tokens, heads, dim]`, where it lies. */
export interface HeadRows {
  readonly values: Float32Array;
  readonly offset: number;
  /** Elements from token to token. */
  readonly stride: number;
}

export function headOf(values: Float32Array, head: number, heads: number, dim: number): HeadRows {
  return { values, offset: head * dim, stride: heads * dim };
}

/** Rows of `[queries, queryHeads]` that read a kv head, by rising query; of one query head when `only` is given. */
export function rowsOf(kvHead: number, sizes: CaptureSizes, only?: number): number[] {
  const { queryHeads, kvHeads, queries } = sizes;
  const group = queryHeads / kvHeads;
  const heads = Array.from({ length: group }, (_, i) => kvHead * group + i).filter(
    (head) => only === undefined || head === only,
  );
  return Array.from({ length: queries }, (_, query) =>
    heads.map((head) => query * queryHeads + head),
  ).flat();
}

/** How many tokens a row of `[queries, queryHeads]` sees. */
export function seenBy(row: number, sizes: CaptureSizes): number {
  return positionOf(sizes, Math.floor(row / sizes.queryHeads)) + 1;
}

/** Copies up to SIDE_BY_SIDE query rows, times the attention scale, into `[SIDE_BY_SIDE, keyHeadDim]`; the rest is 0. */
export function gatherQueries(
  query: Float32Array,
  rows: readonly number[],
  { keyHeadDim, scale }: CaptureSizes,
  gathered: Float64Array,
): void {
  gathered.fill(0);
  for (const [i, row] of rows.entries()) {
    for (let c = 0; c < keyHeadDim; c++)
      gathered[i * keyHeadDim + c] = (query[row * keyHeadDim + c] as number) * scale;
  }
}

/** Dot products of `[SIDE_BY_SIDE, dim]` queries with tokens `from` to `to`, into `[SIDE_BY_SIDE, tokens]`. */
export function dotProducts(
  { values, offset, stride }: HeadRows,
  query: Float64Array,
  logits: Float64Array,
  from: number,
  to: number,
): void {
  const dim = query.length / SIDE_BY_SIDE;
  const tokens = logits.length / SIDE_BY_SIDE;
  for (let token = from; token < to; token += 2) {
    // Of an odd count the last token is computed twice.
    const step = token + 1 < to ? 1 : 0;
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

/** Logits of the first `seen` tokens become softmax weights, the others 0. Returns the log-sum-exp. */
export function normalise(row: Float64Array, seen: number): number {
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

/** Adds the sums of tokens `from` to `to`, weighted by `[SIDE_BY_SIDE, tokens]`, to `[SIDE_BY_SIDE, dim]`. */
export function weightedSums(
  { values, offset, stride }: HeadRows,
  weights: Float64Array,
  sums: Float64Array,
  from: number,
  to: number,
): void {
  const dim = sums.length / SIDE_BY_SIDE;
  const tokens = weights.length / SIDE_BY_SIDE;
  for (let token = from; token < to; token += 2) {
    // Of an odd count the last token is added once more, with weight 0.
    const step = token + 1 < to ? 1 : 0;
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
