// The attention oracle on inputs whose answer can be worked out by hand, and on the case files that state one.
import { describe, expect, it } from 'vitest';
import { decodeF16 } from '../../src/float16.js';
import {
  headsFirstToRagged,
  lcgNormal,
  maxAbsDifference,
  type NormalRecipe,
  type ReferenceAttentionInput,
  referenceAttention,
} from '../../src/testing/index.js';
import { loadCase } from './load-case.js';

/** One head, one query token, scale 1: each test states only what differs. */
function attend(
  input: Partial<ReferenceAttentionInput> &
    Pick<ReferenceAttentionInput, 'keys' | 'values' | 'queries' | 'tokens'>,
) {
  return referenceAttention({
    queryTokens: 1,
    queryHeads: 1,
    kvHeads: 1,
    keyDim: 1,
    valueDim: 1,
    scale: 1,
    ...input,
  });
}

describe('referenceAttention on case files', () => {
  it('onnx-reference-parity', () => {
    const { input, expected } = loadCase<
      Record<'pastK' | 'pastV' | 'newK' | 'newV', number[][]> & {
        q: number[];
        D: number;
        scale: number;
      },
      { weights: number[]; output: number[]; tolerance: number }
    >('onnx-reference-parity');
    const dims = {
      tokens: 2,
      keyDim: input.D,
      valueDim: input.D,
      scale: input.scale,
      queries: input.q,
    };
    const keys = [...input.pastK, ...input.newK].flat();
    const { output, logSumExp } = attend({
      ...dims,
      keys,
      values: [...input.pastV, ...input.newV].flat(),
    });
    expect(maxAbsDifference(output, expected.output)).toBeLessThan(1e-12);
    expect(logSumExp[0]).toBeCloseTo(Math.log(Math.exp(4) + 1), 12);
    // One-hot values make the output the weights themselves.
    const weights = attend({ ...dims, keys, values: [1, 0, 0, 0, 0, 1, 0, 0] }).output;
    expect(maxAbsDifference(weights.subarray(0, 2), expected.weights)).toBeLessThan(1e-12);
  });

  it('num-qk-f16-accumulate-overflow', () => {
    const { expected } = loadCase<unknown, { scaledScores: number[] }>(
      'num-qk-f16-accumulate-overflow',
    );
    const dim = 128;
    const fill = (...rows: number[]) => rows.flatMap((value) => Array<number>(dim).fill(value));
    const queries = fill(32);
    const scale = 1 / Math.sqrt(dim);
    const keys = fill(32, 31.5, -32);
    const { output, logSumExp } = attend({
      keys,
      values: fill(1, 2, 3),
      queries,
      tokens: 3,
      keyDim: dim,
      valueDim: dim,
      scale,
    });
    expect(maxAbsDifference(output, fill(1))).toBeLessThan(1e-3);
    expect(logSumExp[0]).toBeCloseTo(expected.scaledScores[0] ?? 0, 9);
    // With a single key the log-sum-exp is its logit.
    expected.scaledScores.forEach((score, token) => {
      const one = attend({
        keys: keys.slice(token * dim, (token + 1) * dim),
        values: fill(1),
        queries,
        tokens: 1,
        keyDim: dim,
        valueDim: dim,
        scale,
      });
      expect(one.logSumExp[0]).toBeCloseTo(score, 9);
    });
  });

  it('num-folded-query-range', () => {
    const { input, expected } = loadCase<
      { runs: { name: string; softmaxScale: number }[] },
      Record<'overflow' | 'underflow', { output: number }> & { tolerance: number }
    >('num-folded-query-range');
    const tokens = 32;
    const dim = 64;
    const values = Array.from({ length: tokens * dim }, (_, i) => Math.floor(i / dim));
    const run = (
      name: 'overflow' | 'underflow',
      key: (token: number) => number[],
      query: number[],
    ) => {
      const keys = Array.from({ length: tokens }, (_, token) =>
        [...key(token), ...Array<number>(dim).fill(0)].slice(0, dim),
      );
      const queries = [...query, ...Array<number>(dim).fill(0)].slice(0, dim);
      const scale =
        input.runs.find((candidate) => candidate.name === name)?.softmaxScale ?? Number.NaN;
      const { output } = attend({
        keys: keys.flat(),
        values,
        queries,
        tokens,
        keyDim: dim,
        valueDim: dim,
        scale,
      });
      expect(maxAbsDifference(output, Array<number>(dim).fill(expected[name].output))).toBeLessThan(
        1e-9,
      );
    };
    run('overflow', (token) => [256 * (token % 16)], [1024]);
    run('underflow', (token) => [4096 * (token % 16), (token % 16) * 2 ** -14], [0, 1]);
  });

  it('cache-split-count-invariance, unquantized line', () => {
    const { input, expected } = loadCase<
      Record<'K' | 'V' | 'q', NormalRecipe<'f16'>>,
      { referenceUnquantized_L1025_head0_first8: number[] }
    >('cache-split-count-invariance');
    const shape = { heads: 1, tokens: 1025, dim: 64 };
    const [keys, values] = [input.K, input.V].map((recipe) =>
      decodeF16(headsFirstToRagged(lcgNormal(recipe), shape)),
    );
    const { output } = referenceAttention({
      keys: keys ?? [],
      values: values ?? [],
      queries: decodeF16(lcgNormal(input.q)),
      tokens: 1025,
      queryTokens: 1,
      queryHeads: 4,
      kvHeads: 1,
      keyDim: 64,
      valueDim: 64,
      scale: 1 / 8,
    });
    const line = expected.referenceUnquantized_L1025_head0_first8;
    expect(maxAbsDifference(output.subarray(0, 8), line)).toBeLessThan(1e-12);
  });
});

describe('referenceAttention by hand', () => {
  it('gives zeros and -Infinity where nothing is visible', () => {
    const empty = attend({ keys: [], values: [], queries: [1, 2], queryHeads: 2, tokens: 0 });
    expect([...empty.output]).toEqual([0, 0]);
    expect([...empty.logSumExp]).toEqual([Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY]);
    // Two queries on one key: the first one stands before it.
    const early = attend({ keys: [1], values: [7], queries: [1, 1], queryTokens: 2, tokens: 1 });
    expect([...early.output]).toEqual([0, 7]);
    expect([...early.logSumExp]).toEqual([Number.NEGATIVE_INFINITY, 1]);
  });

  it('aligns the causal mask to the end', () => {
    const input = {
      keys: [0, 0, 0, 0],
      values: [0, 2, 10, 20],
      queries: [1, 1],
      queryTokens: 2,
      tokens: 4,
    };
    const { output, logSumExp } = attend(input);
    expect(maxAbsDifference(output, [4, 8])).toBeLessThan(1e-12);
    expect(maxAbsDifference(logSumExp, [Math.log(3), Math.log(4)])).toBeLessThan(1e-12);
    expect(maxAbsDifference(attend({ ...input, causal: false }).output, [8, 8])).toBeLessThan(
      1e-12,
    );
  });

  it('shows the newest keys and the sinks through a sliding window', () => {
    const values = [1, 10, 100, 1000, 10000, 100000];
    const input = {
      keys: Array<number>(6).fill(0),
      values,
      queries: [1, 1],
      queryTokens: 2,
      tokens: 6,
    };
    const plain = attend({ ...input, slidingWindow: { size: 2, sinks: 0 } });
    expect(maxAbsDifference(plain.output, [11000 / 2, 110000 / 2])).toBeLessThan(1e-9);
    const sinks = attend({ ...input, slidingWindow: { size: 2, sinks: 1 } });
    expect(maxAbsDifference(sinks.output, [11001 / 3, 110001 / 3])).toBeLessThan(1e-9);
    // Sinks inside the window count once.
    const overlap = attend({ ...input, slidingWindow: { size: 5, sinks: 3 } });
    expect(maxAbsDifference(overlap.output, [11111 / 5, 111111 / 6])).toBeLessThan(1e-9);
  });

  it('agrees with the visible ranges of cache-sliding-window-eviction', () => {
    const { input, expected } = loadCase<
      { window: number; sink: number },
      {
        visibleAt: Record<
          string,
          { sinks: number; from: number | null; to: number; count: number }
        >;
      }
    >('cache-sliding-window-eviction');
    for (const [length, { sinks, from, to, count }] of Object.entries(expected.visibleAt)) {
      const tokens = Number(length);
      const visible = Array.from(
        { length: tokens },
        (_, token) => token < sinks || (from !== null && token >= from && token <= to),
      );
      // One-hot values make the output the weight of each token.
      const values = Array.from({ length: tokens * tokens }, (_, i) =>
        Math.floor(i / tokens) === i % tokens ? 1 : 0,
      );
      const { output } = attend({
        keys: Array<number>(tokens).fill(0),
        values,
        queries: [1],
        tokens,
        valueDim: tokens,
        slidingWindow: { size: input.window, sinks: input.sink },
      });
      expect(visible.filter(Boolean)).toHaveLength(count);
      expect(
        maxAbsDifference(
          output,
          visible.map((seen) => (seen ? 1 / count : 0)),
        ),
      ).toBeLessThan(1e-12);
    }
  });

  it('caps logits after scaling', () => {
    const { output, logSumExp } = attend({
      keys: [4, 0],
      values: [1, 0],
      queries: [3],
      tokens: 2,
      scale: 0.5,
      logitSoftCap: 2,
    });
    const capped = 2 * Math.tanh(6 / 2);
    expect(output[0]).toBeCloseTo(Math.exp(capped) / (Math.exp(capped) + 1), 12);
    expect(logSumExp[0]).toBeCloseTo(Math.log(Math.exp(capped) + 1), 12);
  });

  it('maps consecutive query heads to one kv head and lets K and V dims differ', () => {
    const { output, logSumExp } = attend({
      keys: [1, 0, 0, 1],
      values: [1, 2, 3, 4, 5, 6],
      queries: [5, 7, 5, 7, 5, 7, 5, 7],
      tokens: 1,
      queryHeads: 4,
      kvHeads: 2,
      keyDim: 2,
      valueDim: 3,
    });
    expect([...output]).toEqual([1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6]);
    expect([...logSumExp]).toEqual([5, 5, 7, 7]);
  });

  it('refuses heads that do not divide and tensors of the wrong size', () => {
    const input = { keys: [1, 1], values: [1, 1], queries: [1, 1, 1], tokens: 1 };
    expect(() => attend({ ...input, queryHeads: 3, kvHeads: 2 })).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID' }),
    );
    expect(() => attend({ ...input, queryHeads: 3, kvHeads: 1 })).toThrow(
      expect.objectContaining({ code: 'TENSOR_INVALID' }),
    );
  });
});
