/** Whether two reports measured the same thing. */
import { canonicalJson } from '@lowbit-kv/core';
import { isCompareReport, type JudgedReport } from '../gate/report-figures.js';

export interface DataDifference {
  /** Field of the report. */
  readonly field: string;
  readonly before: string;
  readonly after: string;
}

export interface DataDifferences {
  /** What figures are measured on: with one of these they cannot be compared. */
  readonly data: readonly DataDifference[];
  /** What may be the reason for a comparison (backend), or is a name or a limit. */
  readonly circumstances: readonly DataDifference[];
}

type Fields = Readonly<Record<string, unknown>>;

/** Of two reports of one kind. */
export function dataDifferences(before: JudgedReport, after: JudgedReport): DataDifferences {
  return {
    data: differences(dataOf(before), dataOf(after)),
    circumstances: differences(circumstancesOf(before), circumstancesOf(after)),
  };
}

function dataOf(report: JudgedReport): Fields {
  if (isCompareReport(report)) {
    const { file: _, provenance: _provenance, data: _data, ...capture } = report.capture;
    const { description: _description, ...replay } = report.replay;
    return { ...under('capture', capture), ...under('replay', replay) };
  }
  const { name: _, ...model } = report.model;
  const { description: _description, ...windows } = report.windows;
  const { backend: _backend, ...settings } = report.settings;
  const { name: _name, ...text } = report.text;
  return {
    ...under('model', model),
    ...under('text', text),
    ...under('windows', windows),
    ...under('settings', settings),
  };
}

function circumstancesOf(report: JudgedReport): Fields {
  const thresholds = under('thresholds', report.thresholds);
  if (isCompareReport(report)) {
    const { capture, backend } = report;
    return { 'capture.file': capture.file, ...under('backend', backend), ...thresholds };
  }
  const { model, text, settings } = report;
  return {
    'model.name': model.name,
    'text.name': text.name,
    'settings.backend': settings.backend,
    ...thresholds,
  };
}

export function under(name: string, fields: object): Fields {
  return Object.fromEntries(
    Object.entries(fields).map(([field, value]) => [`${name}.${field}`, value]),
  );
}

export function differences(before: Fields, after: Fields): DataDifference[] {
  const fields = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...fields]
    .map((field) => ({ field, before: textOf(before[field]), after: textOf(after[field]) }))
    .filter((difference) => difference.before !== difference.after);
}

function textOf(value: unknown): string {
  if (value === undefined) return 'missing';
  return typeof value === 'string' ? value : canonicalJson(value);
}
