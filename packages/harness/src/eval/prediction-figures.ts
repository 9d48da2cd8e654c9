/** Figures of a scheme over predictions: perplexity, divergence, agreement; of all positions, of buckets, as a curve. */
import { isWorse, meanOf } from '../metrics.js';
import { finiteOrNull } from '../report.js';
import { curveSpans, type PositionSpan, positionBuckets } from './positions.js';
import type { EvalBucket, EvalMeasuredRow } from './report.js';
import { type Estimate, estimate, quantile, rootMeanSquare } from './statistics.js';
import type { WindowFigures } from './window-figures.js';
import type { PredictionFigures } from './window-meter.js';

type Windows = readonly Pick<WindowFigures, 'predictions'>[];

type PredictionRow = Pick<
  EvalMeasuredRow,
  | 'perplexity'
  | 'deltaNegativeLog'
  | 'perplexityRatio'
  | 'divergence'
  | 'topAgreement'
  | 'probabilityChange'
  | 'buckets'
  | 'worstBucket'
  | 'curve'
>;

/** Windows of a scheme and of f16 side by side. */
export function predictionFigures(windows: Windows, f16: Windows): PredictionRow {
  const windowTokens = (windows[0]?.predictions.negativeLog.length ?? 0) + 1;
  const all = { from: 1, to: windowTokens };
  const negativeLog = estimate(gather(windows, 'negativeLog', all));
  const delta = deltaOf(windows, f16, all);
  const buckets = positionBuckets(windowTokens).map((span) => spanFigures(windows, f16, span));
  const { from, to } = worstOf(buckets);
  return {
    perplexity: exponentialOf(negativeLog),
    deltaNegativeLog: finiteEstimate(delta),
    perplexityRatio: exponentialOf(delta),
    ...commonFigures(windows, all),
    buckets,
    worstBucket: { from, to },
    curve: curveSpans(windowTokens).map((span) => ({
      ...span,
      divergence: finiteOrNull(meanOf(gather(windows, 'divergence', span))),
    })),
  };
}

function spanFigures(windows: Windows, f16: Windows, span: PositionSpan): EvalBucket {
  return {
    ...span,
    predictions: windows.length * (span.to - span.from),
    deltaNegativeLog: finiteEstimate(deltaOf(windows, f16, span)),
    ...commonFigures(windows, span),
  };
}

function commonFigures(windows: Windows, span: PositionSpan) {
  const divergences = gather(windows, 'divergence', span);
  const changes = gather(windows, 'probabilityChange', span);
  return {
    divergence: {
      ...finiteEstimate(estimate(divergences)),
      p99: finiteOrNull(quantile(divergences, 0.99)),
      max: largest(divergences, span),
    },
    topAgreement: finiteEstimate(estimate(gather(windows, 'agrees', span))),
    probabilityChange: {
      ...finiteEstimate(estimate(changes)),
      rootMeanSquare: finiteOrNull(rootMeanSquare(changes)),
    },
  };
}

/** One figure at the positions of a span, window after window. */
function gather(windows: Windows, name: keyof PredictionFigures, span: PositionSpan): number[] {
  return windows.flatMap(({ predictions }) => [
    ...predictions[name].subarray(span.from - 1, span.to - 1),
  ]);
}

/** Paired: of the differences at each token. */
function deltaOf(windows: Windows, f16: Windows, span: PositionSpan): Estimate {
  const baseline = gather(f16, 'negativeLog', span);
  return estimate(
    gather(windows, 'negativeLog', span).map((value, i) => value - (baseline[i] as number)),
  );
}

function largest(values: readonly number[], { from, to }: PositionSpan) {
  let place = 0;
  for (const [i, value] of values.entries()) {
    if (isWorse(value, values[place] as number)) place = i;
  }
  const perWindow = to - from;
  return {
    value: finiteOrNull(values[place] as number),
    window: Math.floor(place / perWindow),
    position: from + (place % perWindow),
  };
}

/** By mean divergence; one that is not finite is the worst. */
function worstOf(buckets: readonly EvalBucket[]): EvalBucket {
  const meanOfBucket = ({ divergence }: EvalBucket) => divergence.mean ?? Number.NaN;
  return buckets.reduce((a, b) => (isWorse(meanOfBucket(b), meanOfBucket(a)) ? b : a));
}

/** e^mean, with the standard error of first order. */
function exponentialOf({ mean, standardError }: Estimate) {
  const value = Math.exp(mean);
  return { value: finiteOrNull(value), standardError: finiteOrNull(value * standardError) };
}

function finiteEstimate({ mean, standardError }: Estimate) {
  return { mean: finiteOrNull(mean), standardError: finiteOrNull(standardError) };
}
