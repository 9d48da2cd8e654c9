/** A diff as text: different data first, then what got better or worse, then what did not. */
import { figureText } from '../gate/gate.js';
import { placeText } from '../gate/metric.js';
import { renderTable, wrapLine } from '../text-table.js';
import type { DataDifference } from './data.js';
import { type FigureDiff, RELATIVE_NOISE, type ReportDiff, type RowDiff } from './diff.js';

const HEAD = ['scheme', 'figure', 'before', 'after', 'change', 'relative', 'noise', 'is'];

export function formatDiff(diff: ReportDiff): string {
  const { differences, rows, onlyBefore, onlyAfter } = diff;
  const moved = rows.flatMap((row) =>
    row.figures
      .filter(({ outcome }) => outcome !== 'same')
      .map((figure) => figureCells(row.id, figure)),
  );
  const sections = [
    listed('Different data: the figures below do not compare', differences.data),
    listed('Different circumstances', differences.circumstances),
    rows.flatMap(rowNotes),
    moved.length > 0 ? renderTable([HEAD, ...moved], 'text') : [],
    worstPlaces(rows),
    [summary(diff)],
    onlyBefore.length > 0 ? wrapLine(`Only in the first: ${onlyBefore.join(', ')}`, 2) : [],
    onlyAfter.length > 0 ? wrapLine(`Only in the second: ${onlyAfter.join(', ')}`, 2) : [],
  ];
  return sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n');
}

function listed(title: string, entries: readonly DataDifference[]): string[] {
  if (entries.length === 0) return [];
  return [`${title}:`, ...entries.map((entry) => `  ${differenceText(entry)}`)];
}

export function differenceText({ field, before, after }: DataDifference): string {
  return `${field}: ${before} -> ${after}`;
}

function rowNotes({ id, verdict, reason, changed, figures }: RowDiff): string[] {
  const notes = changed.map((what) => `${id}: its ${what} is another`);
  if (verdict.before !== verdict.after)
    notes.push(`${id}: ${verdict.before} -> ${verdict.after}: ${reason}`);
  else if (figures.length === 0) notes.push(`${id}: ${verdict.after}, no figures: ${reason}`);
  return notes.flatMap((note) => wrapLine(note, 2));
}

function figureCells(id: string, figure: FigureDiff): string[] {
  const { metric, before, after, change, relative, noise, noiseOf, outcome } = figure;
  return [
    ...[id, metric, missing(before), missing(after), signed(change, false)],
    ...[signed(relative, true), noiseOf === 'rounding' ? '-' : figureText(noise), outcome],
  ];
}

function worstPlaces(rows: readonly RowDiff[]): string[] {
  return rows.flatMap(({ id, figures }) => {
    const worse = figures.filter(({ outcome, place }) => outcome === 'worse' && place !== null);
    const places = worse.map(({ metric, place }) => `${metric} ${placeText(place ?? {})}`);
    return places.length === 0 ? [] : wrapLine(`${id}: worst after: ${places.join(', ')}`, 2);
  });
}

function summary({ rows }: ReportDiff): string {
  const outcomes = rows.flatMap(({ figures }) => figures.map(({ outcome }) => outcome));
  const count = (outcome: string) => outcomes.filter((one) => one === outcome).length;
  const unknown = count('unknown') === 0 ? '' : `, ${count('unknown')} unknown`;
  return `${count('worse')} figures worse, ${count('better')} better, ${count('same')} the same${unknown} (within 2 paired standard errors where known, else ${100 * RELATIVE_NOISE} %)`;
}

function missing(value: number | null): string {
  return value === null ? '-' : figureText(value);
}

function signed(value: number | null, percent: boolean): string {
  if (value === null) return '-';
  return `${value > 0 ? '+' : ''}${figureText(value, percent)}`;
}
