/** The row of a scheme, from what it gave in all windows. */
import { meanOf } from '../metrics.js';
import { finiteOrNull, type Verdict } from '../report.js';
import { failingLayers, noiseFigures } from './noise-figures.js';
import { predictionFigures } from './prediction-figures.js';
import type { EvalMeasuredRow, EvalReport } from './report.js';
import { schemeChecks } from './self-checks.js';
import type { SubjectResult } from './subject.js';
import { EVAL_THRESHOLDS } from './thresholds.js';
import { evalVerdict } from './verdict.js';
import type { WindowFigures } from './window-figures.js';

type Rate = EvalReport['uncut'];

/** Keys in the order of the report's schema, so that parsing a report changes no byte. */
export function measuredRow(
  subject: SubjectResult,
  f16: SubjectResult,
  windowTokens: number,
): EvalMeasuredRow {
  const { facts, identity } = subject;
  const windows = inOrder(subject.windows);
  const answers = inOrder(subject.answers);
  const noise = noiseFigures(windows.map(({ notes }) => notes));
  const rate = rateOf(windows, windowTokens);
  const uncut = uncutRateOf(windows, windowTokens);
  const figures = {
    status: 'measured' as const,
    ...identity,
    calibration: facts.calibration,
    bits: {
      stored: finiteOrNull(meanOf(windows.map(({ notes }) => notes.storedBits))),
      asymptotic: facts.asymptoticBits,
    },
    ...predictionFigures(windows, inOrder(f16.windows)),
    noise,
    failingLayers: failingLayers(noise, EVAL_THRESHOLDS.safeWorstLayer),
    rate: {
      ...rate,
      percentOfUncut: finiteOrNull(
        (100 * (rate.tokensPerSecond ?? Number.NaN)) / (uncut.tokensPerSecond ?? Number.NaN),
      ),
    },
    checks: schemeChecks(subject.windows, answers, facts.classes),
  };
  const verdict: Verdict =
    subject === f16
      ? { level: 'baseline', reason: 'f16: what the others are measured against' }
      : evalVerdict(figures, facts.classes, windowTokens);
  return { ...figures, verdict };
}

/** Of the uncut model, in the runs that gave these windows. */
export function uncutRateOf(windows: readonly WindowFigures[], windowTokens: number): Rate {
  return rateOf(
    windows.map(({ uncut }) => uncut),
    windowTokens,
  );
}

function rateOf(windows: readonly { readonly seconds: number }[], windowTokens: number): Rate {
  const sum = windows.reduce((total, { seconds }) => total + seconds, 0);
  return {
    seconds: finiteOrNull(sum),
    tokensPerSecond: finiteOrNull((windows.length * windowTokens) / sum),
  };
}

/** Of all windows, or of all prompts, by their numbers. */
export function inOrder<Part>(parts: ReadonlyMap<number, Part>): Part[] {
  return [...parts].toSorted(([a], [b]) => a - b).map(([, part]) => part);
}
