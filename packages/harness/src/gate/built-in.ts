/**
 * The built-in gate: what verdicts call unsafe, by the worst layer, the worst head and the worst bucket of positions; and data
 * that could not tell a good scheme from a bad one.
 */
import { THRESHOLDS } from '../thresholds.js';
import { type GateCondition, parseCondition } from './condition.js';
import type { GateFailure } from './gate.js';
import { isCompareReport, type JudgedReport } from './report-figures.js';

export interface BuiltInCondition extends GateCondition {
  /** Of what a model may keep to itself: a row without the figure is judged by the others. */
  readonly whereKnown: boolean;
}

/**
 * In random numbers the largest channel maximum is 1.2 to 1.5 times the median one; keys of language models have channels of
 * 3 times and more, and these are what low-bit schemes break on.
 */
const KEY_CHANNEL_OUTLIERS = 2;

/** From the limits that the report's verdicts were decided by. */
export function builtInConditions(report: JudgedReport): BuiltInCondition[] {
  if (isCompareReport(report)) {
    const { careWorstHead, careWorstLayer } = report.thresholds;
    return [
      { ...parseCondition(`output.worstHead>${careWorstHead}`, 'compare'), whereKnown: false },
      { ...parseCondition(`output.worstLayer>${careWorstLayer}`, 'compare'), whereKnown: false },
    ];
  }
  const { careWorstBucket, careDivergenceP99 } = report.thresholds;
  const { careWorstHead, careWorstLayer } = THRESHOLDS;
  return [
    { ...parseCondition(`kl.worstBucket>${careWorstBucket}`, 'eval'), whereKnown: false },
    { ...parseCondition(`kl.p99>${careDivergenceP99}`, 'eval'), whereKnown: false },
    { ...parseCondition(`output.worstHead>${careWorstHead}`, 'eval'), whereKnown: true },
    { ...parseCondition(`output.worstLayer>${careWorstLayer}`, 'eval'), whereKnown: true },
  ];
}

/** A capture whose keys look like random numbers: what wins on it may lose on a model. */
export function syntheticData(report: JudgedReport): GateFailure[] {
  if (!isCompareReport(report)) return [];
  const ratios = report.capture.data.flatMap(({ layer, keyChannelOutliers }) =>
    keyChannelOutliers.map((ratio, head) => ({ layer, head, ratio: ratio ?? Number.NaN })),
  );
  const largest = ratios.reduce((a, b) => (b.ratio > a.ratio ? b : a), {
    ...{ layer: 0, head: 0, ratio: 0 },
  });
  if (largest.ratio >= KEY_CHANNEL_OUTLIERS) return [];
  const { layer, head, ratio } = largest;
  return [
    {
      scheme: null,
      metric: 'capture.data.keyChannelOutliers',
      condition: null,
      value: ratio,
      limit: KEY_CHANNEL_OUTLIERS,
      place: { layer, head },
      message: `the keys of ${report.capture.file} look like random numbers: their largest channel is ${ratio.toPrecision(2)}x the median (layer ${layer} head ${head}), below ${KEY_CHANNEL_OUTLIERS}x in every head; a scheme that is good on them may fail on a model`,
    },
  ];
}
