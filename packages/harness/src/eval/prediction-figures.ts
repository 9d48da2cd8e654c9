/** Figures of a scheme over predictions: perplexity, divergence, agreement; of all positions, of buckets, as a curve. */
import { isWorse } from '../metrics.js';
import { finiteOrNull } from '../report.js';
import { curveSpans, type PositionSpan, positionBuckets } from './positions.js';
import type { EvalBucket, EvalMeasuredRow } from './report.js';
import {
  type Estimate,
  estimate,
  quantile,
  rootMeanSquare,
  type WindowValues,
} from './statistics.js';
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
  const delta = deltaOf(windows, f16, all);
  const buckets = positionBuckets(windowTokens).map((span) => spanFigures(windows, f16, span));
  const { from, to } = worstOf(buckets);
  return {
    perplexity: exponentialOf(estimate(valuesIn(windows, 'negativeLog', all))),
    deltaNegativeLog: finiteEstimate(delta),
    perplexityRatio: exponentialOf(delta),
    ...commonFigures(windows, all),
    buckets,
    worstBucket: { from, to },
    curve: curveSpans(windowTokens).map((span) => ({
      ...span,
      divergence: finiteOrNull(estimate(valuesIn(windows, 'divergence', span)).mean),
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
  const divergences = valuesIn(windows, 'divergence', span);
  const changes = valuesIn(windows, 'probabilityChange', span);
  return {
    divergence: {
      ...finiteEstimate(estimate(divergences)),
      p99: finiteOrNull(quantile(divergences, 0.99)),
      max: largest(divergences, span.from),
    },
    topAgreement: finiteEstimate(estimate(valuesIn(windows, 'agrees', span))),
    probabilityChange: {
      ...finiteEstimate(estimate(changes)),
      rootMeanSquare: finiteOrNull(rootMeanSquare(changes)),
    },
  };
}

/** One figure at the positions of a span. */
function valuesIn(
  windows: Windows,
  name: keyof PredictionFigures,
  { from, to }: PositionSpan,
): WindowValues {
  return windows.map(({ predictions }) => predictions[name].subarray(from - 1, to - 1));
}

/** Paired: of the differences at each token. */
function deltaOf(windows: Windows, f16: Windows, span: PositionSpan): Estimate {
  const baseline = valuesIn(f16, 'negativeLog', span);
  return estimate(
    valuesIn(windows, 'negativeLog', span).map((values, window) =>
      values.map((value, i) => value - (baseline[window]?.[i] as number)),
    ),
  );
}

function largest(windows: WindowValues, from: number) {
  let worst = { value: Number.NEGATIVE_INFINITY, window: 0, position: from };
  for (const [window, values] of windows.entries()) {
    for (const [i, value] of values.entries()) {
      if (isWorse(value, worst.value)) worst = { value, window, position: from + i };
    }
  }
  return { ...worst, value: finiteOrNull(worst.value) };
}

/** By mean divergence; one that is not finite is the worst. */
function worstOf(buckets: readonly EvalBucket[]): EvalBucket {
  const meanOfBucket = ({ divergence }: EvalBucket) => divergence.mean ?? Number.NaN;
  return buckets.reduce((a, b) => (isWorse(meanOfBucket(b), meanOfBucket(a)) ? b : a));
}

/** e^mean, with standard errors of first order. */
function exponentialOf({ mean, standardError, windowStandardError }: Estimate) {
  const value = Math.exp(mean);
  return {
    value: finiteOrNull(value),
    standardError: finiteOrNull(value * standardError),
    windowStandardError: finiteOrNull(value * windowStandardError),
  };
}

function finiteEstimate({ mean, standardError, windowStandardError }: Estimate) {
  return {
    mean: finiteOrNull(mean),
    standardError: finiteOrNull(standardError),
    windowStandardError: finiteOrNull(windowStandardError),
  };
}
