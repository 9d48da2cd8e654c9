/** Reports of both kinds as rows of named figures. */
import type { EvalReport } from '../eval/report.js';
import type { CompareReport, VerdictLevel } from '../report.js';
import { COMPARE_METRICS } from './compare-metrics.js';
import { EVAL_METRICS } from './eval-metrics.js';
import type { Metric, MetricInfo, Reading } from './metric.js';

/** The reports that a gate judges and a diff compares. */
export type JudgedReport = CompareReport | EvalReport;

/** The command that gives it. */
export type ReportKind = 'compare' | 'eval';

export interface RowFigures {
  readonly id: string;
  readonly level: VerdictLevel;
  readonly reason: string;
  readonly fingerprint: string | null;
  readonly calibration: string | null;
  /** By name of the metric; empty for a row that was refused or failed. A metric that the row lacks is missing. */
  readonly figures: ReadonlyMap<string, Reading>;
}

export function isCompareReport(report: JudgedReport): report is CompareReport {
  return 'capture' in report;
}

export function kindOf(report: JudgedReport): ReportKind {
  return isCompareReport(report) ? 'compare' : 'eval';
}

/** Figures that conditions may name, in the order of the documents. */
export function gateMetrics(kind: ReportKind): readonly MetricInfo[] {
  return kind === 'compare' ? COMPARE_METRICS : EVAL_METRICS;
}

/** In the order of the report, f16 included. */
export function rowFigures(report: JudgedReport): RowFigures[] {
  if (isCompareReport(report)) {
    return report.schemes.map((row) => {
      const measured = row.status === 'measured' || row.status === 'simulated';
      return {
        ...identityOf(row),
        fingerprint: 'fingerprint' in row ? row.fingerprint : null,
        calibration: (measured && row.calibration?.description) || null,
        figures: measured ? readAll(COMPARE_METRICS, row, report) : new Map(),
      };
    });
  }
  return report.schemes.map((row) => ({
    ...identityOf(row),
    fingerprint: row.fingerprint,
    calibration: row.status === 'measured' ? row.calibration : null,
    figures: row.status === 'measured' ? readAll(EVAL_METRICS, row, report) : new Map(),
  }));
}

function identityOf({ id, verdict }: JudgedReport['schemes'][number]) {
  return { id, level: verdict.level, reason: verdict.reason };
}

function readAll<Report, Row>(
  metrics: readonly Metric<Report, Row>[],
  row: Row,
  report: Report,
): ReadonlyMap<string, Reading> {
  const figures = new Map<string, Reading>();
  for (const { name, read } of metrics) {
    const reading = read(row, report);
    if (reading !== null) figures.set(name, reading);
  }
  return figures;
}
