/** Every figure of an evaluation against a plain computation from the same logits. */
import { createPlan, type Plan } from '@lowbit-kv/core';
import { describe, expect, it } from 'vitest';
import type { EvalReport } from '../src/index.js';
import { F16 } from '../src/index.js';
import { evalRow, evaluateFake, FOUR, TWO, WINDOW_TOKENS } from './support/fake-evaluation.js';
import { FAKE_GEOMETRY, fakeLogits, fakeModel, fakeTokens } from './support/fake-model.js';
import {
  mean,
  type NaivePrediction,
  naivePrediction,
  standardError,
} from './support/naive-figures.js';

/** float64 sums in another order, and weights of the divergence rounded to f32. */
const DIGITS = 7;
const VOCABULARY = 50;
const WINDOWS = 3;

const f16 = createPlan(F16, FAKE_GEOMETRY);
const four = createPlan(FOUR, FAKE_GEOMETRY);
const two = createPlan(TWO, FAKE_GEOMETRY);

/** Predictions by window and position. */
function naive(plan: Plan): NaivePrediction[][] {
  const text = fakeTokens(300);
  return Array.from({ length: WINDOWS }, (_, window) => {
    const tokens = text.slice(window * WINDOW_TOKENS, (window + 1) * WINDOW_TOKENS);
    return Array.from({ length: WINDOW_TOKENS - 1 }, (_, row) =>
      naivePrediction(
        fakeLogits(f16, tokens, row, VOCABULARY),
        fakeLogits(plan, tokens, row, VOCABULARY),
        tokens[row + 1] as number,
      ),
    );
  });
}

const report: EvalReport = await evaluateFake();

describe.each([
  ['f16', f16],
  ['four', four],
  ['two', two],
] as const)('figures of %s', (id, plan) => {
  const row = evalRow(report, id);
  const windows = naive(plan);
  const all = windows.flat();
  const baseline = naive(f16);
  const deltas = windows.map((window, w) =>
    window.map(({ negativeLog }, i) => negativeLog - (baseline[w]?.[i]?.negativeLog as number)),
  );

  it('perplexity is e^mean, its errors are those of the mean times it', () => {
    const logs = all.map(({ negativeLog }) => negativeLog);
    const perplexity = Math.exp(mean(logs));
    expect(perplexity).toBeGreaterThan(VOCABULARY);
    expect(row.perplexity.value).toBeCloseTo(perplexity, DIGITS);
    expect(row.perplexity.standardError).toBeCloseTo(perplexity * standardError(logs), DIGITS);
    const means = windows.map((window) => mean(window.map(({ negativeLog }) => negativeLog)));
    expect(row.perplexity.windowStandardError).toBeCloseTo(
      perplexity * standardError(means),
      DIGITS,
    );
  });

  it('the difference to f16 is paired by token, and by window', () => {
    const { mean: delta, standardError: byToken, windowStandardError } = row.deltaNegativeLog;
    expect(delta).toBeCloseTo(mean(deltas.flat()), DIGITS);
    expect(byToken).toBeCloseTo(standardError(deltas.flat()), DIGITS);
    expect(windowStandardError).toBeCloseTo(standardError(deltas.map(mean)), DIGITS);
    expect(row.perplexityRatio.value).toBeCloseTo(Math.exp(mean(deltas.flat())), DIGITS);
    // Far below that of two independent means.
    if (id === 'four')
      expect(byToken).toBeLessThan(0.2 * standardError(all.map(({ negativeLog }) => negativeLog)));
  });

  it('divergence: mean, errors, p99, the largest and its place', () => {
    const divergences = all.map(({ divergence }) => divergence);
    const { divergence } = row;
    expect(divergence.mean).toBeCloseTo(mean(divergences), DIGITS);
    expect(divergence.standardError).toBeCloseTo(standardError(divergences), DIGITS);
    const sorted = divergences.toSorted((a, b) => a - b);
    expect(divergence.p99).toBeCloseTo(sorted[Math.ceil(0.99 * sorted.length) - 1] ?? 0, DIGITS);
    expect(divergence.max.value).toBeCloseTo(sorted.at(-1) ?? 0, DIGITS);
    if (id === 'f16') {
      expect(divergence).toMatchObject({ mean: 0, p99: 0, max: { value: 0 } });
      return;
    }
    const { window, position } = divergence.max;
    expect(windows[window]?.[position - 1]?.divergence).toBe(sorted.at(-1));
    expect(divergence.mean).toBeGreaterThan(1e-3);
  });

  it('agreement of the most probable token', () => {
    expect(row.topAgreement.mean).toBeCloseTo(mean(all.map(({ agrees }) => agrees)), DIGITS);
    const [low, high] = { f16: [1, 1], four: [0.8, 0.99], two: [0.3, 0.8] }[id];
    expect(row.topAgreement.mean).toBeGreaterThanOrEqual(low as number);
    expect(row.topAgreement.mean).toBeLessThanOrEqual(high as number);
  });

  it('change of the probability of the right token', () => {
    const changes = all.map(({ change }) => change);
    expect(row.probabilityChange.mean).toBeCloseTo(mean(changes), DIGITS);
    expect(row.probabilityChange.standardError).toBeCloseTo(standardError(changes), DIGITS);
    expect(row.probabilityChange.rootMeanSquare).toBeCloseTo(
      Math.sqrt(mean(changes.map((change) => change ** 2))),
      DIGITS,
    );
  });

  it('the curve covers every position once', () => {
    expect(row.curve[0]?.from).toBe(1);
    expect(row.curve.at(-1)?.to).toBe(WINDOW_TOKENS);
    for (const [i, { from, to, divergence }] of row.curve.entries()) {
      expect(from).toBe(i === 0 ? 1 : row.curve[i - 1]?.to);
      const values = windows.flatMap((window) =>
        window.slice(from - 1, to - 1).map((prediction) => prediction.divergence),
      );
      expect(divergence).toBeCloseTo(mean(values), DIGITS);
    }
  });
});

it('buckets of positions have figures of their own, and the worst is named', async () => {
  const noisyFrom = 140;
  const model = fakeModel({
    vocabularySize: 5,
    change(logits, { plan, row }) {
      // Position row + 1 and on: another distribution, under the scheme alone.
      if (plan?.scheme.id === 'four' && row + 1 >= noisyFrom && row + 1 < 200) logits[0] = 4;
    },
  });
  const report = await evaluateFake(model, {
    text: { name: 'text', sha256: '', tokens: fakeTokens(600, 5) },
    windows: 2,
    windowTokens: 300,
  });
  const { buckets, worstBucket, divergence } = evalRow(report, 'four');
  expect(buckets.map(({ from, to, predictions }) => [from, to, predictions])).toEqual([
    [1, 128, 254],
    [128, 256, 256],
    [256, 300, 88],
  ]);
  expect(worstBucket).toEqual({ from: 128, to: 256 });
  const [quiet, noisy, after] = buckets.map((bucket) => bucket.divergence.mean as number);
  expect(noisy).toBeGreaterThan(10 * (quiet as number));
  expect(noisy).toBeGreaterThan(10 * (after as number));
  expect(buckets[1]?.divergence.max.position).toBeGreaterThanOrEqual(noisyFrom);
  // The buckets add up to the whole.
  const sum = buckets.reduce(
    (total, bucket) => total + bucket.predictions * (bucket.divergence.mean as number),
    0,
  );
  expect(sum / (2 * 299)).toBeCloseTo(divergence.mean as number, 10);
});

describe('noise of layers', () => {
  /** Sums of squares of three windows: `[error, energy]` by layer. */
  const KEYS = [
    [1, 100],
    [30, 100],
  ];
  const doctored = fakeModel({
    notes: (notes, plan) =>
      plan.scheme.id !== 'four'
        ? notes
        : {
            storedBits: 5.25,
            layers: KEYS.map(([error, energy], layer) => ({
              key: { error: error as number, energy: energy as number },
              value: { error: 2, energy: 200 * (layer + 1) },
              causes: {
                keysOnly: { error: layer + 4, energy: 20 },
                valuesOnly: { error: 2, energy: 20 },
              },
              heads: [0, 1, 2, 3].map((head) => ({
                error: layer === 1 && head === 2 ? 50 : 1,
                energy: 10 * (head + 1),
              })),
            })),
          },
  });

  it('is error over energy, summed over windows, with the worst by name', async () => {
    const row = evalRow(await evaluateFake(doctored), 'four');
    expect(row.bits.stored).toBe(5.25);
    expect(row.bits.asymptotic).toBeCloseTo(5, 6);
    expect(row.noise.layers[1]).toEqual({
      layer: 1,
      keyNmse: 0.3,
      valueNmse: 0.005,
      outputNmse: 53 / 100,
      headNmse: [1 / 10, 1 / 20, 50 / 30, 1 / 40],
      keysOnlyNmse: 0.25,
      valuesOnlyNmse: 0.1,
    });
    expect(row.noise.worstKeys).toEqual({ layer: 1, nmse: 0.3 });
    expect(row.noise.worstValues).toEqual({ layer: 0, nmse: 0.01 });
    expect(row.noise.worstLayer).toEqual({ layer: 1, nmse: 0.53 });
    expect(row.noise.worstHead).toEqual({ layer: 1, head: 2, nmse: 50 / 30 });
    expect(row.failingLayers.map(({ layer, source }) => [layer, source])).toEqual([
      [1, 'keys and values'],
      [0, 'keys and values'],
    ]);
    expect(row.verdict.reason).toContain(
      'keys and values of layer 1: output NMSE 0.53 (keys alone 0.25, values alone 0.10), head 2 1.7',
    );
  });

  it('weighs windows by their energy, not by their ratio', async () => {
    let window = 0;
    const model = fakeModel({
      notes: (notes, plan) => {
        if (plan.scheme.id !== 'two') return notes;
        const key = window++ === 0 ? { error: 9, energy: 10 } : { error: 0, energy: 45 };
        return { ...notes, layers: notes.layers.map((layer) => ({ ...layer, key })) };
      },
    });
    const row = evalRow(await evaluateFake(model), 'two');
    expect(row.noise.layers[0]?.keyNmse).toBeCloseTo(0.09, 12);
  });
});

it('f16 is compared with the uncut model by logit, not by figure', async () => {
  const model = fakeModel({
    change(logits, { plan, row }) {
      if (plan?.scheme.id === 'f16' && row === 33) logits[7] = (logits[7] as number) + 0.25;
    },
  });
  const { checks } = await evaluateFake(model);
  expect(checks.find(({ name }) => name === 'f16-equals-uncut')?.detail).toMatch(
    /largest difference 0\.250 \(window \d position 34\)/,
  );
});

it('seconds are those of the model alone, for uncut and schemes alike', async () => {
  let clock = 0;
  const model = fakeModel({
    onRun: (plan) => {
      clock += plan === null ? 4000 : plan.scheme.id === 'two' ? 16_000 : 8000;
    },
    deliver: (rows, sink) => sink(0, rows),
  });
  const report = await evaluateFake(model, {
    now: () => clock,
    // While rows are metered.
    onProgress: () => {
      clock += 1_000_000;
    },
  });
  expect(report.uncut).toEqual({ seconds: 12, tokensPerSecond: 20 });
  expect(evalRow(report, 'four').rate).toEqual({
    seconds: 24,
    tokensPerSecond: 10,
    percentOfUncut: 50,
  });
  expect(evalRow(report, 'two').rate.percentOfUncut).toBe(25);
});
