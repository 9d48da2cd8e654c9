import { describe, expect, it } from 'vitest';
import { type MaskNumbers, sightOf } from '../src/cut/mask-sight.js';

const TOKENS = 6;
const STEP = { past: 0, tokens: TOKENS };
const square = (
  seen: (query: number, position: number) => boolean,
  hidden = -Infinity,
  tokens = TOKENS,
) => ({
  kind: 'added' as const,
  data: Float32Array.from({ length: tokens * tokens }, (_, i) =>
    seen(Math.floor(i / tokens), i % tokens) ? 0 : hidden,
  ),
  dims: [1, 1, tokens, tokens],
});
const causal = square((query, position) => position <= query);
const sight = (...masks: readonly MaskNumbers[]) => sightOf(masks, STEP, false);

describe('what masks let a query see', () => {
  it('everything up to itself', () => {
    expect(sight(causal)).toEqual({ window: null });
    expect(sight(square((q, p) => p <= q, -65504))).toEqual({ window: null });
    expect(sight({ ...causal, dims: [TOKENS, TOKENS] })).toEqual({ window: null });
  });

  it('the newest up to itself', () => {
    expect(sight(square((q, p) => p <= q && p > q - 3))).toEqual({ window: 3 });
    const window = square((q, p) => p > q - 2);
    expect(sight(causal, window)).toEqual({ window: 2 });
    expect(sightOf([window], STEP, true)).toEqual({ window: 2 });
  });

  it('is found behind a past', () => {
    const behind = (seen: (query: number, position: number) => boolean) => {
      const whole = square(seen, -Infinity, 100);
      const newest = { ...whole, data: whole.data.slice(96 * 100), dims: [1, 1, 4, 100] };
      return sightOf([newest], { past: 96, tokens: 4 }, false);
    };
    expect(behind((q, p) => p <= q)).toEqual({ window: null });
    expect(behind((q, p) => p <= q && p > q - 90)).toEqual({ window: 90 });
    expect(behind((q, p) => p <= q && (q < 99 || p > 3))).toEqual({
      reason: expect.stringMatching(/query 99 see 96 positions/),
    });
    expect(behind((q, p) => p <= q + 1)).toEqual({
      reason: expect.stringMatching(/query 96 see position 97/),
    });
  });

  it('is the same of boolean masks, of either meaning', () => {
    const data = causal.data.map((x) => (x === 0 ? 1 : 0));
    expect(sight({ kind: 'boolean', data, dims: causal.dims })).toEqual({ window: null });
    const hidden = data.map((x) => 1 - x);
    expect(sight({ kind: 'hidden', data: hidden, dims: causal.dims })).toEqual({ window: null });
  });

  it('needs causality of the form or of a mask', () => {
    const all = square(() => true);
    expect(sight(all)).toEqual({ reason: expect.stringMatching(/query 0 see position 1/) });
    expect(sightOf([all], STEP, true)).toEqual({ window: null });
  });

  it('is nothing else', () => {
    const reasons: readonly (readonly [MaskNumbers, RegExp])[] = [
      [square((q, p) => p <= q && p !== 2), /hides position 2 from query 2/],
      [square((q, p) => p <= q && p >= 1), /query 0 see 0 positions/],
      [square((q, p) => p <= q, -5), /adds -5 to query 0 and position 1/],
      [{ ...causal, data: causal.data.map((x, i) => (i === TOKENS ? 0.5 : x)) }, /adds 0.5/],
      [{ ...causal, data: causal.data.map(() => Number.NaN) }, /adds NaN/],
      [{ ...causal, dims: [2, 1, TOKENS, TOKENS] }, /shape \[2, 1, 6, 6\]/],
      [{ ...causal, dims: [1, 1, TOKENS, TOKENS + 1] }, /shape/],
    ];
    for (const [mask, reason] of reasons)
      expect(sight(mask)).toEqual({ reason: expect.stringMatching(reason) });
  });

  it('has to be the same in every head', () => {
    const other = square((q, p) => p <= q && p > q - 3);
    const data = Float32Array.of(...causal.data, ...other.data);
    expect(sight({ ...causal, data, dims: [1, 2, TOKENS, TOKENS] })).toEqual({
      reason: expect.stringMatching(/query 3 see 3 positions/),
    });
  });
});
