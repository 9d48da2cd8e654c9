/** A tuning report as text of at most 120 columns. */
import { renderTable, wrapLine } from '../text-table.js';
import { byReason, leftOutTexts } from './reasons.js';
import type { PartError, TuneReport, TuneRow } from './tune-report.js';

export function formatTuneReport(report: TuneReport): string {
  const { allocation, budgetBits, capture, fit, heldOut, lowestBits, windows } = report;
  const { greedy } = allocation;
  const lines = [
    `${capture.file}: layers ${capture.layers.join(', ')}, ${capture.tokens} tokens`,
    `chosen by ${fit.count} queries at ${fit.first}..${fit.last}, judged by ${heldOut.count} queries at ${heldOut.first}..${heldOut.last}`,
    `budget ${budgetBits} bits per element of packed blocks (${round(lowestBits)} is the lowest possible); ${windows.sinks} sinks and ${windows.recent} recent tokens stay f16`,
    '',
    'Choice',
    ...renderTable(choiceRows(report), 'text'),
    `${round(allocation.bits)} bits, mean output NMSE ${figure(allocation.error)}: the best there is among ${allocation.layers.reduce((sum, { pairs }) => sum + pairs, 0)} pairs.`,
    `Greedy on the convex hulls: ${round(greedy.bits)} bits, ${figure(greedy.error)}, ${(100 * greedy.gap).toFixed(1)} % above the best.`,
    '',
    'Mean output NMSE',
    ...renderTable(errorRows(report.rows), 'text'),
    '',
    verdict(report),
    'bits are those of packed blocks; with windows: per element of all tokens, mean over the queries. Rows "same windows" are the presets with the windows of the tuned scheme. "single pair" is what layers outside the capture are stored as.',
    ...unmeasuredLines(report),
    ...leftOutLines(report),
  ];
  return lines.flatMap((line) => wrapLine(line, 2)).join('\n');
}

function unmeasuredLines({ unmeasured }: TuneReport): string[] {
  return byReason(unmeasured).map((line) => `Not measured: ${line}`);
}

/** What was no candidate, where no row of the same preset says why. */
function leftOutLines({ leftOut, unmeasured }: TuneReport): string[] {
  const told = new Set(unmeasured.map(({ id }) => id));
  return leftOutTexts(leftOut.filter(({ preset }) => !told.has(preset))).map(
    (line) => `No candidates: ${line}`,
  );
}

function choiceRows({ allocation }: TuneReport): string[][] {
  return [
    ['layer', 'keys of', 'bits', 'values of', 'bits', 'both', 'nmse'],
    ...allocation.layers.map(({ layer, key, keyBits, value, valueBits, bits, error }) => [
      String(layer),
      key,
      round(keyBits),
      value,
      round(valueBits),
      round(bits),
      figure(error),
    ]),
  ];
}

const KINDS: Readonly<Record<TuneRow['kind'], string>> = {
  tuned: 'tuned',
  'single-pair': 'single pair',
  preset: 'preset',
  'same-windows': 'same windows',
};

function errorRows(rows: readonly TuneRow[]): string[][] {
  const worst = ({ worstLayer }: PartError) => `${figure(worstLayer.nmse)} L${worstLayer.layer}`;
  return [
    ['scheme', '', 'bits', 'with windows', 'fit', 'held out', 'worst layer held out'],
    ...rows.map((row) => [
      row.id,
      KINDS[row.kind],
      row.bits.toFixed(3),
      row.bitsWithWindows.toFixed(2),
      figure(row.fit.nmse),
      figure(row.heldOut.nmse),
      worst(row.heldOut),
    ]),
  ];
}

function verdict({ rows, beatsAll, budgetBits }: TuneReport): string {
  const [tuned, ...others] = rows;
  const uniform = others.filter(({ kind }) => kind !== 'single-pair');
  if (tuned === undefined || uniform.length === 0)
    return `No preset of at most ${budgetBits} bits was measured.`;
  const errorOf = ({ heldOut: { nmse } }: TuneRow) => nmse ?? Number.POSITIVE_INFINITY;
  const best = uniform.reduce((a, b) => (errorOf(b) < errorOf(a) ? b : a));
  const where = `of at most ${budgetBits} bits on the held-out queries`;
  const ratio = `${(errorOf(best) / errorOf(tuned)).toPrecision(3)} times its error`;
  return beatsAll
    ? `Beats every uniform scheme ${where}; the best of them is ${best.id} with ${ratio}.`
    : `Does not beat every uniform scheme ${where}: ${best.id} has ${ratio}.`;
}

function round(bits: number): string {
  return String(Math.round(bits * 1000) / 1000);
}

function figure(value: number | null): string {
  if (value === null) return '-';
  return value !== 0 && value < 0.001 ? value.toExponential(1) : value.toPrecision(3);
}
