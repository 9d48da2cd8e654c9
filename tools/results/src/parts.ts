// The generated parts of docs/results.md, from a comparison of the whole shelf and a tuning run.
import type { CompareReport, MeasuredRow, SchemeRow, TuneReport } from '@lowbit-kv/harness';
import { markdownTable } from '../../../packages/core/scripts/generated-parts.js';
import { EFFECTS } from './effects.js';

export interface RunFacts {
  readonly command: string;
  readonly date: string;
  readonly machine: string;
  readonly seconds: number;
  /** Processor time of all its processes. */
  readonly processorSeconds: number;
}

/** Parts by name. */
export function generatedParts(
  facts: RunFacts,
  report: CompareReport,
  tuning: { readonly command: string; readonly report: TuneReport },
): ReadonlyMap<string, string> {
  const rows = report.schemes.filter((row) => row.status === 'measured');
  const schemes = rows.filter(({ verdict }) => verdict.level !== 'baseline');
  return new Map([
    ['run', runLines(facts, report)],
    ['front', frontTable(schemes, new Set(report.paretoFront), bitsHere, 'bits')],
    ['packed-front', frontTable(schemes, packedFront(schemes), packedBits, 'packed bits')],
    ['sizes', sizeTable(schemes)],
    ['effects', effectTable(schemes)],
    ['shelf', shelfTable(schemes, new Set(report.paretoFront))],
    ['refused', refusedLines(report.schemes)],
    ['tuned', tunedLines(tuning.command, tuning.report)],
  ]);
}

const bitsHere = (row: MeasuredRow) => row.bits.attended;
const packedBits = (row: MeasuredRow) => row.bits.packed?.total ?? Number.POSITIVE_INFINITY;
const errorOf = (row: MeasuredRow) => row.output.nmse ?? Number.POSITIVE_INFINITY;

function runLines(facts: RunFacts, { capture, backend, replay, schemes }: CompareReport): string {
  const { command, date, machine, seconds, processorSeconds } = facts;
  const figured = schemes.filter(({ status }) => status === 'measured').length;
  return [
    `- command: \`${command}\``,
    `- ${date}, ${machine}; ${seconds.toFixed(0)} s, ${processorSeconds.toFixed(0)} s of processor time over two processes`,
    `- ${figured} rows with figures of ${schemes.length}, f16 among them; backend ${backend.id}`,
    `- ${capture.provenance.model ?? capture.file}; ${capture.provenance.text ?? 'text unknown'}`,
    `- layers ${capture.layers.join(', ')}; ${replay.description}`,
  ].join('\n');
}

/** Ids that no other beats in packed bits and error: what the front tends to in a long context, with these errors. */
export function packedFront(rows: readonly MeasuredRow[]): ReadonlySet<string> {
  const unbeaten = rows.filter((row) =>
    rows.every((other) => {
      const [bits, error] = [packedBits(other) - packedBits(row), errorOf(other) - errorOf(row)];
      return bits > 0 || error > 0 || (bits === 0 && error === 0);
    }),
  );
  return new Set(unbeaten.map(({ id }) => id));
}

function frontTable(
  rows: readonly MeasuredRow[],
  front: ReadonlySet<string>,
  bitsOf: (row: MeasuredRow) => number,
  name: string,
): string {
  const chosen = rows
    .filter(({ id }) => front.has(id))
    .toSorted((a, b) => bitsOf(a) - bitsOf(b) || errorOf(b) - errorOf(a));
  return markdownTable(
    ['scheme', name, 'output nmse', 'worst head', 'verdict'],
    chosen.map((row) => [
      row.id,
      bitsOf(row).toFixed(2),
      figure(row.output.nmse),
      figure(row.output.worstHead.nmse),
      row.verdict.level,
    ]),
  );
}

const SIZES = [2.25, 2.5, 3, 3.25, 3.5, 4, 4.5, 5, 6, 9] as const;

/** The least error at or below each size, counted with windows and without. */
function sizeTable(rows: readonly MeasuredRow[]): string {
  const best = (limit: number, bitsOf: (row: MeasuredRow) => number) => {
    const fitting = rows.filter((row) => bitsOf(row) <= limit + 1e-9);
    const least = fitting.reduce<MeasuredRow | undefined>(
      (a, b) => (a === undefined || errorOf(b) < errorOf(a) ? b : a),
      undefined,
    );
    return least === undefined ? '-' : `${least.id} (${figure(least.output.nmse)})`;
  };
  return markdownTable(
    ['at most', 'windows counted', 'packed blocks alone'],
    SIZES.map((limit) => [`${limit} bits`, best(limit, bitsHere), best(limit, packedBits)]),
  );
}

/** Throws when a scheme of a pair was not measured: the list must follow the shelf. */
function effectTable(rows: readonly MeasuredRow[]): string {
  const find = (id: string) => {
    const row = rows.find((candidate) => candidate.id === id);
    if (row === undefined) throw new Error(`${id} was not measured; correct effects.ts`);
    return row;
  };
  return markdownTable(
    ['what changes', 'from', 'to', 'packed bits', 'output nmse', 'factor'],
    EFFECTS.map(({ what, from, to }) => {
      const [a, b] = [find(from), find(to)];
      return [
        what,
        from,
        to,
        `${packedBits(a).toFixed(2)} to ${packedBits(b).toFixed(2)}`,
        `${figure(a.output.nmse)} to ${figure(b.output.nmse)}`,
        (errorOf(b) / errorOf(a)).toPrecision(2),
      ];
    }),
  );
}

function shelfTable(rows: readonly MeasuredRow[], front: ReadonlySet<string>): string {
  return markdownTable(
    ['scheme', 'bits', '', 'packed', 'K nmse', 'V nmse', 'output nmse', 'worst head', 'verdict'],
    rows
      .toSorted((a, b) => bitsHere(a) - bitsHere(b) || errorOf(a) - errorOf(b))
      .map((row) => [
        row.id,
        bitsHere(row).toFixed(2),
        front.has(row.id) ? '*' : '',
        packedBits(row).toFixed(2),
        figure(row.key.nmse),
        figure(row.value.nmse),
        figure(row.output.nmse),
        figure(row.output.worstHead.nmse),
        row.verdict.level,
      ]),
  );
}

function refusedLines(rows: readonly SchemeRow[]): string {
  const ids = new Map<string, string[]>();
  for (const row of rows) {
    if (row.status === 'measured' || row.status === 'simulated') continue;
    ids.set(row.reason, [...(ids.get(row.reason) ?? []), row.id]);
  }
  const lines = [...ids].map(([reason, names]) => `- ${names.join(', ')}: ${reason}`);
  return lines.length === 0 ? 'None.' : lines.join('\n');
}

function tunedLines(command: string, report: TuneReport): string {
  const { allocation, budgetBits, fit, heldOut, rows, windows } = report;
  const layers = markdownTable(
    ['layer', 'keys of', 'values of', 'bits', 'nmse'],
    allocation.layers.map(({ layer, key, keyBits, value, valueBits, bits, error }) => [
      layer,
      `${key} (${keyBits.toFixed(2)})`,
      `${value} (${valueBits.toFixed(2)})`,
      bits.toFixed(2),
      figure(error),
    ]),
  );
  const shown = [...rows.slice(0, 2), ...rows.slice(2).toSorted(byHeldOut).slice(0, 6)];
  const compared = markdownTable(
    ['scheme', '', 'packed bits', 'bits with windows', 'fit', 'held out'],
    shown.map((row) => [
      row.id,
      row.kind,
      row.bits.toFixed(2),
      row.bitsWithWindows.toFixed(2),
      figure(row.fit.nmse),
      figure(row.heldOut.nmse),
    ]),
  );
  return [
    `\`${command}\`: chosen by queries ${fit.first}..${fit.last}, judged by queries ${heldOut.first}..${heldOut.last}; ${windows.sinks} sinks and ${windows.recent} recent tokens.`,
    '',
    layers,
    '',
    `Greedy on the same tables is ${(100 * allocation.greedy.gap).toFixed(1)} % above this choice. Against the best of the ${rows.length - 2} uniform rows within ${budgetBits} bits:`,
    '',
    compared,
  ].join('\n');
}

function byHeldOut(a: TuneReport['rows'][number], b: TuneReport['rows'][number]): number {
  const error = (row: typeof a) => row.heldOut.nmse ?? Number.POSITIVE_INFINITY;
  return error(a) - error(b);
}

function figure(value: number | null): string {
  if (value === null) return '-';
  return value !== 0 && value < 0.001 ? value.toExponential(1) : value.toPrecision(2);
}
