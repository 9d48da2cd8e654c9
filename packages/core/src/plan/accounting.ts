/**
 * What a plan costs before anything is allocated: exact bytes of one sequence by part, and bits per stored element.
 */

import { LowbitKvError } from '../errors.js';
import { checkCount } from '../options.js';
import { usedRanges } from './canonical.js';
import { heldTokens, type SequenceFilling } from './held-tokens.js';
import type { BlockLayout } from './layout.js';
import type { PageClass, Plan, TensorPlan } from './plan.js';

export interface PlanBytesOptions {
  /** As in the options of a cache. Default 0. */
  readonly rollback?: number;
  /** `at-once` (default): one step with all tokens. `token-by-token`: the f16 tail may straddle one more page. */
  readonly filling?: SequenceFilling;
}

/** Bytes of one sequence over all layers. The parts, with `outliers.reserved`, and `alignment` add up to `total`. */
export interface PlanBytes {
  readonly codes: number;
  readonly parameters: number;
  readonly outliers: {
    /** End offsets, and room for the outliers that the scheme reserves; top outliers have fixed room. */
    readonly reserved: number;
    /** End offsets, and as many entries as the shares of the scheme foresee (rounded); all top outliers. */
    readonly expected: number;
  };
  /** f16 sinks and tails. */
  readonly windows: number;
  readonly statistics: number;
  /** Padding and unused slots of pages in use. */
  readonly alignment: number;
  /** All pages in use, as `live` of the statistics of a cache. */
  readonly total: number;
  /** Keys and values that attention can see, in f16 and without pages. */
  readonly f16Total: number;
}

/**
 * Bytes that a sequence of `tokens` tokens takes. Throws OPTION_INVALID for a count that is no integer or so large that
 * a sum would lose bytes, and for `token-by-token` in sliding-window layers, where they depend on every earlier step.
 */
export function planBytes(plan: Plan, tokens: number, options: PlanBytesOptions = {}): PlanBytes {
  const length = checkCount('tokens', tokens, 0);
  const rollback = checkCount('rollback', options.rollback ?? 0, 0);
  const held = plan.classes.map((pageClass) =>
    heldTokens(pageClass, length, rollback, options.filling ?? 'at-once'),
  );
  const sum = { codes: 0, parameters: 0, windows: 0, statistics: 0, total: 0, f16Total: 0 };
  const outliers = { reserved: 0, expected: 0 };
  for (const tensor of plan.layers.flatMap(({ key, value }) => [key, value])) {
    const pageClass = plan.classes[tensor.class] as PageClass;
    const { fullBlocks, lastBlock, windowTokens, windowPages, statistics } = held[
      tensor.class
    ] as (typeof held)[number];
    const elementsPerToken = tensor.heads * tensor.headDim;
    sum.windows += windowTokens * elementsPerToken * 2;
    sum.statistics += statistics * tensor.statisticsPageBytes;
    sum.f16Total += visibleTokens(pageClass, length) * elementsPerToken * 2;
    sum.total += windowPages * tensor.windowPageBytes + statistics * tensor.statisticsPageBytes;
    const { layout } = tensor;
    if (layout === null) continue;
    sum.total += (fullBlocks + (lastBlock > 0 ? 1 : 0)) * layout.pageBytes;
    for (const [count, filled] of [
      [fullBlocks, layout.blockTokens],
      [1, lastBlock],
    ] as const) {
      const used = usedBytes(layout, filled);
      const elements = filled * elementsPerToken;
      sum.codes += count * used.codes;
      sum.parameters += count * used.parameters;
      outliers.reserved += count * (used.outliers + filled * reservedPerToken(layout));
      outliers.expected += count * (used.outliers + elements * outlierShare(tensor));
    }
  }
  if (!Object.values(sum).every(Number.isSafeInteger)) {
    throw new LowbitKvError('OPTION_INVALID', {
      message: 'the bytes of this many tokens cannot be counted exactly',
      value: tokens,
      valid: 'counts whose bytes stay below 2^53',
      next: 'Count fewer tokens, and multiply.',
      where: { field: 'tokens' },
    });
  }
  const { codes, parameters, windows, statistics, total, f16Total } = sum;
  const parts = codes + parameters + outliers.reserved + windows + statistics;
  return {
    codes,
    parameters,
    outliers: { reserved: outliers.reserved, expected: Math.round(outliers.expected) },
    windows,
    statistics,
    alignment: total - parts,
    total,
    f16Total,
  };
}

/** Bits per element of full blocks, by part; an f16 tensor has 16 in `codes`. */
export interface ElementBits {
  readonly codes: number;
  readonly parameters: number;
  readonly outlierOffsets: number;
  /** One byte per outlier of bands, at the shares of the scheme; values and channels of top outliers. */
  readonly outlierEntries: number;
  /** Padding; room reserved for outliers is not counted. */
  readonly alignment: number;
  readonly total: number;
}

/** Exact bits per stored element of keys, of values, and of both, over all layers. Windows are not counted. */
export function bitsPerElement(plan: Plan): {
  readonly key: ElementBits;
  readonly value: ElementBits;
  readonly all: ElementBits;
} {
  const keys = plan.layers.map(({ key }) => key);
  const values = plan.layers.map(({ value }) => value);
  return {
    key: averageBits(keys),
    value: averageBits(values),
    all: averageBits([...keys, ...values]),
  };
}

/** Averages over tensors; each weighs as many elements as it has per token. */
function averageBits(tensors: readonly TensorPlan[]): ElementBits {
  const sum = { codes: 0, parameters: 0, outlierOffsets: 0, outlierEntries: 0, alignment: 0 };
  let weights = 0;
  for (const tensor of tensors) {
    const weight = tensor.heads * tensor.headDim;
    weights += weight;
    const { layout } = tensor;
    if (layout === null) {
      sum.codes += 16 * weight;
      continue;
    }
    // Bits per token of a full block, so that every part is a weighted sum.
    const used = usedBytes(layout, layout.blockTokens);
    const parts = used.codes + used.parameters + used.outliers;
    const reserved = layout.blockTokens * reservedPerToken(layout);
    const bits = (bytes: number) => (8 * bytes) / layout.blockTokens;
    sum.codes += bits(used.codes);
    sum.parameters += bits(used.parameters);
    // Of bands the end offsets, of top outliers everything.
    if (layout.top === undefined) sum.outlierOffsets += bits(used.outliers);
    else sum.outlierEntries += bits(used.outliers);
    sum.outlierEntries += 8 * outlierShare(tensor) * weight;
    sum.alignment += bits(layout.pageBytes - parts - reserved);
  }
  const total = Object.values(sum).reduce((a, b) => a + b, 0);
  return {
    codes: sum.codes / weights,
    parameters: sum.parameters / weights,
    outlierOffsets: sum.outlierOffsets / weights,
    outlierEntries: sum.outlierEntries / weights,
    alignment: sum.alignment / weights,
    total: total / weights,
  };
}

/** Bytes that a block of `tokens` tokens uses; `outliers` are end offsets of bands without members, or all top outliers. */
function usedBytes(layout: BlockLayout, tokens: number) {
  const sum = { codes: 0, parameters: 0, outliers: 0 };
  const page = new Uint8Array(layout.sparse === null ? 0 : layout.pageBytes);
  for (const { part, first, end } of usedRanges(layout, page, tokens)) sum[part] += end - first;
  return sum;
}

/** Bytes set aside for outlier entries per token, over all heads. */
function reservedPerToken(layout: BlockLayout): number {
  return layout.sparse === null
    ? 0
    : (layout.heads * layout.sparse.entries.capacity) / layout.blockTokens;
}

/** Share of elements that have an entry beside their dense code. */
function outlierShare({ scheme }: TensorPlan): number {
  if (scheme.bits === 16 || scheme.outliers?.kind !== 'bands') return 0;
  return scheme.outliers.shares.outer + scheme.outliers.shares.inner;
}

function visibleTokens({ slidingWindow: window }: PageClass, length: number): number {
  return window === null ? length : Math.min(length, window.sinks + window.size);
}
