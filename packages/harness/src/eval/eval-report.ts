/** The report of an evaluation, from what was measured of all its rows. */
import type { UnmeasuredRow } from '../report.js';
import type { DamagedRecord } from '../work/records.js';
import { inOrder, measuredRow, uncutRateOf } from './eval-row.js';
import type { EvalWork } from './eval-work.js';
import type { EvalReport } from './report.js';
import { retrievalSection } from './retrieval.js';
import { runChecks } from './self-checks.js';
import type { SubjectResult } from './subject.js';

export interface EvalResults {
  readonly f16: SubjectResult;
  /** In the order of the schemes; a row where there are no figures. */
  readonly others: readonly (SubjectResult | UnmeasuredRow)[];
  readonly damaged: readonly DamagedRecord[];
}

export function evalReport(
  work: EvalWork,
  { f16, others, damaged }: EvalResults,
  command: string | undefined,
): EvalReport {
  const { model, text, windows, settings, thresholds, retrieval } = work;
  const measured = others.filter((other) => 'facts' in other);
  const rows = [
    measuredRow(f16, f16, windows.windowTokens),
    ...others.map((other) =>
      'facts' in other ? measuredRow(other, f16, windows.windowTokens) : other,
    ),
  ];
  return {
    reportVersion: 1,
    model,
    text,
    windows,
    settings,
    command: command ?? null,
    thresholds,
    uncut: uncutRateOf(inOrder(f16.windows), windows.windowTokens),
    checks: runChecks(f16.windows, thresholds.f16Difference),
    valid: rows.every(({ verdict }) => verdict.level !== 'invalid'),
    schemes: rows,
    retrieval: retrieval === null ? null : retrievalSection(retrieval.prompts, f16, measured),
    resumed: { rows: resumedRows([f16, ...measured]), damaged: [...damaged] },
  };
}

function resumedRows(subjects: readonly SubjectResult[]): EvalReport['resumed']['rows'] {
  return subjects
    .map(({ identity: { id }, resumed: { windows, prompts } }) => ({
      ...{ id, windows: windows.size, prompts: prompts.size },
    }))
    .filter(({ windows, prompts }) => windows + prompts > 0);
}
