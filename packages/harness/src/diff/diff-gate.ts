/** A gate over the changes between two reports. */
import { crosses, type GateCondition } from '../gate/condition.js';
import { figureText, type GateFailure, type GateResult, unjudged } from '../gate/gate.js';
import { placeText } from '../gate/metric.js';
import type { FigureDiff, ReportDiff } from './diff.js';

/**
 * Conditions, from `parseChangeCondition`, hold for every scheme of both reports: percent is the relative change, a plain
 * number the absolute one. A scheme that is gone or has no figures to compare fails, and so do reports without a scheme in
 * common: nothing passes because it was not measured.
 */
export function checkDiffGate(diff: ReportDiff, conditions: readonly GateCondition[]): GateResult {
  const failures = diff.onlyBefore.map((id) => unjudged(id, `${id} is in the first report only`));
  const rows = diff.rows.filter(({ verdict }) => verdict.before !== 'baseline');
  if (rows.length === 0)
    failures.push(unjudged(null, 'the reports have no scheme in common besides f16'));
  for (const { id, verdict, reason, figures } of rows) {
    if (figures.length === 0) {
      const levels = `${verdict.before}, then ${verdict.after}`;
      failures.push(unjudged(id, `${id} has no figures to compare: ${levels}: ${reason}`));
      continue;
    }
    for (const condition of conditions) {
      const figure = figures.find(({ metric }) => metric === condition.metric);
      const value = changeOf(figure, condition);
      if (figure === undefined || crosses(value, condition))
        failures.push(crossed(id, condition, figure, value));
    }
  }
  return { passed: failures.length === 0, failures, notes: [] };
}

function changeOf(figure: FigureDiff | undefined, { percent }: GateCondition): number | null {
  return (percent ? figure?.relative : figure?.change) ?? null;
}

function crossed(
  scheme: string,
  { metric, text, limit, percent }: GateCondition,
  figure: FigureDiff | undefined,
  value: number | null,
): GateFailure {
  const place = figure?.place ?? null;
  const where = place === null ? '' : ` at ${placeText(place)}`;
  const found =
    figure === undefined
      ? 'the rows have no such figure'
      : `${metric} went from ${figureText(figure.before)} to ${figureText(figure.after)}${where}, by ${figureText(value, percent)}`;
  return {
    ...{ scheme, metric, condition: text, value, limit, place },
    message: `${scheme} fails ${text}: ${found}`,
  };
}
