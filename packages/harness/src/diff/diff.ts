/** Two reports of one kind, scheme by scheme and figure by figure. */
import { LowbitKvError } from '@lowbit-kv/core';
import { isMeasured } from '../gate/gate.js';
import type { MetricInfo, Place, Reading } from '../gate/metric.js';
import {
  gateMetrics,
  type JudgedReport,
  kindOf,
  type ReportKind,
  type RowFigures,
  rowFigures,
} from '../gate/report-figures.js';
import type { VerdictLevel } from '../report.js';
import { type DataDifferences, dataDifferences } from './data.js';

/** Standard errors, of both reports together, that a change has to exceed. */
const STANDARD_ERRORS = 2;
/** Where no standard error is known: backends round differently, and f16 has errors of rounding alone. */
export const RELATIVE_NOISE = 1e-3;
const ABSOLUTE_NOISE = 1e-10;

/** `unknown`: one of the two is not there, or neither is finite. */
export type Outcome = 'better' | 'worse' | 'same' | 'unknown';

export interface FigureDiff {
  readonly metric: string;
  readonly before: number | null;
  readonly after: number | null;
  /** after - before. */
  readonly change: number | null;
  /** change / |before|; null also where `before` is 0 and the change is not. */
  readonly relative: number | null;
  /** A change up to here is `same`. */
  readonly noise: number;
  /** `standard errors`: 2, paired with f16 in each report; `rounding`: that figure comes without. */
  readonly noiseOf: 'standard errors' | 'rounding';
  readonly outcome: Outcome;
  /** Of the figure after, where it is a worst place. */
  readonly place: Place | null;
}

export interface RowDiff {
  readonly id: string;
  readonly verdict: { readonly before: VerdictLevel; readonly after: VerdictLevel };
  /** Of the row after. */
  readonly reason: string;
  /** What else is not the same: the scheme under this id, its calibration. */
  readonly changed: readonly ('fingerprint' | 'calibration')[];
  /** Empty when one of the rows has no figures that mean something. */
  readonly figures: readonly FigureDiff[];
}

export interface ReportDiff {
  readonly reportVersion: 1;
  readonly kind: ReportKind;
  readonly differences: DataDifferences;
  /** Schemes of both, in the order of the report after. */
  readonly rows: readonly RowDiff[];
  readonly onlyBefore: readonly string[];
  readonly onlyAfter: readonly string[];
}

/** Throws OPTION_INVALID for reports of two kinds. Different data are no error here: look at `differences.data`. */
export function diffReports(before: JudgedReport, after: JudgedReport): ReportDiff {
  const kind = kindOf(after);
  if (kindOf(before) !== kind) {
    throw new LowbitKvError('OPTION_INVALID', {
      message: 'these are reports of two kinds',
      value: [kindOf(before), kind],
      valid: 'two reports of `compare --json`, or two of `eval --json`',
      next: 'Compare reports of one command.',
    });
  }
  const rowsBefore = new Map(rowFigures(before).map((row) => [row.id, row]));
  const rowsAfter = rowFigures(after);
  const metrics = gateMetrics(kind);
  return {
    reportVersion: 1,
    kind,
    differences: dataDifferences(before, after),
    rows: rowsAfter.flatMap((row) => {
      const earlier = rowsBefore.get(row.id);
      return earlier === undefined ? [] : [rowDiff(earlier, row, metrics)];
    }),
    onlyBefore: [...rowsBefore.keys()].filter((id) => !rowsAfter.some((row) => row.id === id)),
    onlyAfter: rowsAfter.filter(({ id }) => !rowsBefore.has(id)).map(({ id }) => id),
  };
}

function rowDiff(before: RowFigures, after: RowFigures, metrics: readonly MetricInfo[]): RowDiff {
  const comparable = isMeasured(before) && isMeasured(after);
  return {
    id: after.id,
    verdict: { before: before.level, after: after.level },
    reason: after.reason,
    changed: (['fingerprint', 'calibration'] as const).filter(
      (field) => before[field] !== after[field],
    ),
    figures: comparable
      ? metrics.flatMap((metric) => {
          const [from, to] = [before.figures.get(metric.name), after.figures.get(metric.name)];
          return from === undefined && to === undefined ? [] : [figureDiff(metric, from, to)];
        })
      : [],
  };
}

function figureDiff(
  { name, better }: MetricInfo,
  from: Reading | undefined,
  to: Reading | undefined,
): FigureDiff {
  const [before, after] = [from?.value ?? null, to?.value ?? null];
  const change = before === null || after === null ? null : after - before;
  const errors = [from?.standardError ?? null, to?.standardError ?? null];
  const known = errors.every((error) => error !== null);
  const rounding = RELATIVE_NOISE * Math.abs(before ?? 0);
  // f16 has no error against itself: that much is always allowed.
  const noise = Math.max(
    known ? STANDARD_ERRORS * Math.hypot(...(errors as number[])) : rounding,
    ABSOLUTE_NOISE,
  );
  return {
    ...{ metric: name, before, after, change },
    relative: change === 0 ? 0 : quotient(change, Math.abs(before ?? 0)),
    noise,
    noiseOf: known ? 'standard errors' : 'rounding',
    outcome:
      from === undefined || to === undefined ? 'unknown' : outcomeOf(before, after, noise, better),
    place: to?.place ?? null,
  };
}

function outcomeOf(
  before: number | null,
  after: number | null,
  noise: number,
  better: MetricInfo['better'],
): Outcome {
  if (before === null) return after === null ? 'unknown' : 'better';
  if (after === null) return 'worse';
  if (Math.abs(after - before) <= noise) return 'same';
  return after < before === (better === 'lower') ? 'better' : 'worse';
}

function quotient(a: number | null, b: number): number | null {
  return a === null || b === 0 ? null : a / b;
}
