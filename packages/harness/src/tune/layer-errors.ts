/**
 * What attention of one layer loses under each pair of a key and a value candidate: float64 over what the cache would hold
 * at each query, windows included.
 */
import { type PageClass, windowCounts } from '@lowbit-kv/core';
import {
  dotProducts,
  gatherQueries,
  type HeadRows,
  headOf,
  normalise,
  rowsOf,
  SIDE_BY_SIDE,
  seenBy,
  weightedSums,
} from '../attention-rows.js';
import type { CaptureSizes, LayerTensors } from '../capture-layers.js';
import { addSums, type ErrorSum, errorSum, nmseOf } from '../metrics.js';

/** One tensor of a layer under one candidate. */
export interface DecodedTensor {
  /** All tokens as attention meets them once packed, `[tokens, kvHeads, headDim]`; those never packed are as in the window. */
  readonly values: Float32Array;
  /** All tokens as attention meets them in the window: as captured, up to the rounding of keys that are rotated there. */
  readonly window: Float32Array;
  /** Which tokens are packed when. */
  readonly rule: Pick<PageClass, 'sinks' | 'recent' | 'flush' | 'statisticsTokens'>;
}

export interface LayerProblem {
  readonly layer: LayerTensors;
  readonly sizes: CaptureSizes;
  /** `[queries, queryHeads, valueHeadDim]`. */
  readonly exactOutput: Float64Array;
}

/** NMSE of the layer's output with one tensor of each candidate, the other tensor as captured. */
export function singleErrors(
  problem: LayerProblem,
  keys: readonly DecodedTensor[],
  values: readonly DecodedTensor[],
): { readonly key: readonly number[]; readonly value: readonly number[] } {
  const heads = headsOf(problem);
  return {
    key: keys.map((key) =>
      nmseOf(addSums(heads.map((head) => head.error(head.weights(key), null)))),
    ),
    value: values.map((value) =>
      nmseOf(addSums(heads.map((head) => head.error(head.exactWeights, value)))),
    ),
  };
}

/** NMSE of the layer's output with one key candidate, by value candidate. */
export function pairErrors(
  problem: LayerProblem,
  key: DecodedTensor,
  values: readonly DecodedTensor[],
): readonly number[] {
  if (values.length === 0) return [];
  const sums = headsOf(problem).map((head) => {
    const weights = head.weights(key);
    return values.map((value) => head.error(weights, value));
  });
  return values.map((_, v) => nmseOf(addSums(sums.map((head) => head[v] as ErrorSum))));
}

function headsOf(problem: LayerProblem): HeadProblem[] {
  return Array.from(
    { length: problem.sizes.kvHeads },
    (_, kvHead) => new HeadProblem(problem, kvHead),
  );
}

/** Rows that are computed together. */
interface RowBlock {
  readonly rows: readonly number[];
  /** Tokens that each row sees. */
  readonly seen: readonly number[];
  /** Tokens that the last row sees. */
  readonly visible: number;
  /** `[SIDE_BY_SIDE, keyHeadDim]`. */
  readonly query: Float64Array;
  /** `[SIDE_BY_SIDE, tokens]`, of the captured keys. */
  readonly logits: Float64Array;
}

/** Packed tokens as a row meets them. */
interface PackedRange {
  readonly from: number;
  readonly to: number;
}

class HeadProblem {
  /** Softmax weights over the captured keys, one `[SIDE_BY_SIDE, tokens]` per block of rows. */
  readonly exactWeights: readonly Float64Array[];
  readonly #problem: LayerProblem;
  readonly #kvHead: number;
  readonly #blocks: readonly RowBlock[];
  readonly #value: HeadRows;

  constructor(problem: LayerProblem, kvHead: number) {
    const { layer, sizes } = problem;
    const { kvHeads, keyHeadDim, valueHeadDim, tokens } = sizes;
    const key = headOf(layer.exact.key, kvHead, kvHeads, keyHeadDim);
    const rows = rowsOf(kvHead, sizes);
    const blocks: RowBlock[] = [];
    for (let first = 0; first < rows.length; first += SIDE_BY_SIDE) {
      const some = rows.slice(first, first + SIDE_BY_SIDE);
      const seen = some.map((row) => seenBy(row, sizes));
      const visible = seen.at(-1) as number;
      const query = new Float64Array(SIDE_BY_SIDE * keyHeadDim);
      gatherQueries(layer.query, some, sizes, query);
      const logits = new Float64Array(SIDE_BY_SIDE * tokens);
      dotProducts(key, query, logits, 0, visible);
      blocks.push({ rows: some, seen, visible, query, logits });
    }
    this.#problem = problem;
    this.#kvHead = kvHead;
    this.#blocks = blocks;
    this.#value = headOf(layer.exact.value, kvHead, kvHeads, valueHeadDim);
    this.exactWeights = blocks.map((block) => softmaxOf(block, block.logits.slice()));
  }

  /** Softmax weights when packed keys are those of the candidate. */
  weights({ values, window, rule }: DecodedTensor): readonly Float64Array[] {
    const { kvHeads, keyHeadDim, tokens } = this.#problem.sizes;
    const [packed, held] = [values, window].map((keys) =>
      headOf(keys, this.#kvHead, kvHeads, keyHeadDim),
    ) as [HeadRows, HeadRows];
    const captured = window === this.#problem.layer.exact.key;
    return this.#blocks.map((block) => {
      const ranges = packedRanges(block, rule);
      const { from, to } = ranges.at(-1) as PackedRange;
      const logits = new Float64Array(SIDE_BY_SIDE * tokens);
      dotProducts(packed, block.query, logits, from, to);
      const inWindow = captured ? block.logits : new Float64Array(logits.length);
      if (!captured) dotProducts(held, block.query, inWindow, 0, block.visible);
      for (const [i, range] of ranges.entries()) {
        const row = i * tokens;
        const take = (first: number, end: number) =>
          logits.set(inWindow.subarray(row + first, row + end), row + first);
        take(0, range.from);
        take(range.to, block.seen[i] as number);
      }
      return softmaxOf(block, logits);
    });
  }

  /** Error of the outputs under these weights, with the packed values of the candidate or with the captured ones. */
  error(weights: readonly Float64Array[], value: DecodedTensor | null): ErrorSum {
    const { sizes, exactOutput } = this.#problem;
    const { valueHeadDim: dim } = sizes;
    const output = new Float64Array(SIDE_BY_SIDE * dim);
    const sums: ErrorSum[] = [];
    for (const [b, block] of this.#blocks.entries()) {
      output.fill(0);
      this.#addValues(block, weights[b] as Float64Array, value, output);
      for (const [i, row] of block.rows.entries()) {
        sums.push(
          errorSum(
            output.subarray(i * dim, (i + 1) * dim),
            exactOutput.subarray(row * dim, (row + 1) * dim),
          ),
        );
      }
    }
    return addSums(sums);
  }

  #addValues(
    block: RowBlock,
    weights: Float64Array,
    value: DecodedTensor | null,
    output: Float64Array,
  ): void {
    if (value === null) {
      weightedSums(this.#value, weights, output, 0, block.visible);
      return;
    }
    const { kvHeads, valueHeadDim: dim, tokens } = this.#problem.sizes;
    const packed = headOf(value.values, this.#kvHead, kvHeads, dim);
    const ranges = packedRanges(block, value.rule);
    // The window of a later row begins later: from where the first begins to where the last does, rows differ.
    const { from, to: first } = ranges[0] as PackedRange;
    const last = (ranges.at(-1) as PackedRange).to;
    weightedSums(this.#value, weights, output, 0, from);
    weightedSums(packed, weights, output, from, first);
    if (first < last) {
      const stored = new Float64Array(weights.length);
      const captured = weights.slice();
      for (const [i, range] of ranges.entries()) {
        const row = i * tokens;
        const begin = row + Math.max(first, range.from);
        const end = row + range.to;
        stored.set(weights.subarray(begin, end), begin);
        captured.fill(0, begin, end);
      }
      weightedSums(packed, stored, output, first, last);
      weightedSums(this.#value, captured, output, first, last);
    }
    weightedSums(this.#value, weights, output, last, block.visible);
  }
}

/** One per row, ends rising. */
function packedRanges(block: RowBlock, rule: DecodedTensor['rule']): PackedRange[] {
  return block.seen.map((length) => {
    const { sinks, packed } = windowCounts(rule, length);
    return { from: sinks, to: sinks + packed };
  });
}

function softmaxOf({ seen, visible }: RowBlock, logits: Float64Array): Float64Array {
  const tokens = logits.length / SIDE_BY_SIDE;
  for (const [i, count] of seen.entries())
    normalise(logits.subarray(i * tokens, i * tokens + visible), count);
  return logits;
}
