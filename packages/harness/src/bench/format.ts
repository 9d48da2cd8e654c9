/**
 * A benchmark as text or Markdown: a table per backend and operation, decode steps with break-even contexts, and notes.
 */
import { F16 } from '../f16-scheme.js';
import { renderTable, type TableStyle, wrapLine } from '../text-table.js';
import {
  type BreakEven,
  breakEven,
  type DecodeStep,
  decodeSteps,
  stepGroups,
} from './break-even.js';
import type { BenchChange, BenchComparison } from './regression.js';
import {
  BENCH_OPERATIONS,
  type BenchBackend,
  type BenchMeasuredRow,
  type BenchReport,
  type BenchRow,
  type BenchShape,
} from './report.js';

/** With `comparison`, each measured row says how it changed. */
export function formatBench(
  report: BenchReport,
  { style = 'text', comparison }: { style?: TableStyle; comparison?: BenchComparison } = {},
): string {
  const changes = new Map(comparison?.changes.map((change) => [change.row, change]));
  const blocks = report.backends.flatMap((backend) => [
    ...BENCH_OPERATIONS.flatMap((operation) => {
      const rows = report.rows.filter(
        (row) => row.backend === backend.id && row.operation === operation,
      );
      const measured = rows.filter((row) => row.status === 'measured');
      if (measured.length === 0) return [];
      return [operationTable(backend, operation, measured, style, comparison && changes)];
    }),
    ...stepTables(report, backend, style),
  ]);
  const notes = [...report.backends.map(backendNote), ...rowNotes(report.rows)];
  return [...blocks, notes.flatMap((note) => noteLines(note, style)).join('\n')].join('\n\n');
}

const HEADINGS = {
  pack: 'a prompt packed in one step',
  append: 'new tokens of a decode step, packing included',
  attend: 'attention of a decode step',
} as const;

function operationTable(
  backend: BenchBackend,
  operation: BenchRow['operation'],
  rows: readonly BenchMeasuredRow[],
  style: TableStyle,
  changes: ReadonlyMap<BenchRow, BenchChange> | undefined,
): string {
  const head = [
    ...['scheme', 'batch', 'context', 'new', 'heads', 'dim', 'us', 'quartiles', 'MB', 'GB/s'],
    ...['of copy', 'vs f16', ...(changes === undefined ? [] : ['change'])],
  ];
  const body = rows.map((row) => {
    const { scheme, shape, microseconds, bytes, bytesPerSecond, shareOfCopy } = row;
    const f16 = rows.find((other) => other.scheme === F16.id && sameShape(other.shape, shape))
      ?.microseconds.median;
    const { median, lowerQuartile, upperQuartile } = microseconds;
    return [
      isCached(row, backend) ? `${scheme} *` : scheme,
      String(shape.batch),
      operation === 'pack' ? '0' : String(shape.context ?? 'any'),
      String(shape.tokens),
      `${shape.queryHeads}/${shape.kvHeads}`,
      String(shape.headDim),
      timeText(median),
      `${timeText(lowerQuartile)} to ${timeText(upperQuartile)}`,
      (bytes / 1e6).toPrecision(3),
      (bytesPerSecond / 1e9).toPrecision(3),
      `${(100 * shareOfCopy).toPrecision(2)} %`,
      f16 === undefined || median === 0 ? '-' : `${(f16 / median).toPrecision(2)}x`,
      ...(changes === undefined ? [] : [changeText(changes.get(row))]),
    ];
  });
  const title = `${operation} on ${backend.id}: ${HEADINGS[operation]}, microseconds of a layer`;
  return [heading(title, style), ...renderTable([head, ...body], style)].join('\n');
}

function stepTables(report: BenchReport, { id }: BenchBackend, style: TableStyle): string[] {
  const own = decodeSteps(report).filter(
    ({ backend, append }) => backend === id && append !== null,
  );
  return stepGroups(own).map((steps) => {
    const { shape } = steps[0] as DecodeStep;
    const contexts = [...new Set(steps.map((step) => step.shape.context))].sort((a, b) => a - b);
    const schemes = [...new Set(steps.map(({ scheme }) => scheme))];
    const body = schemes.map((scheme) => [
      scheme,
      ...contexts.map((context) => {
        const step = steps.find((one) => one.scheme === scheme && one.shape.context === context);
        return step === undefined ? '-' : timeText(perToken(step));
      }),
      scheme === F16.id ? '-' : breakEvenText(breakEven(steps, scheme)),
    ]);
    const head = ['scheme', ...contexts.map(String), 'faster than f16'];
    const title = `decode step on ${id}: append and attention, ${shapeText(shape)}; microseconds of a layer and token, by context`;
    return [heading(title, style), ...renderTable([head, ...body], style)].join('\n');
  });
}

/** Microseconds of a layer for each new token. Null where appending was not measured. */
export function perToken({ append, attend, shape }: DecodeStep): number {
  return ((append ?? Number.NaN) + attend) / (shape.batch * shape.tokens);
}

export function shapeText({ batch, tokens, queryHeads, kvHeads, headDim }: BenchShape): string {
  const sequences = batch === 1 ? '1 sequence' : `${batch} sequences`;
  const each = tokens === 1 ? '1 new token' : `${tokens} new tokens`;
  return `${sequences} of ${each}, ${queryHeads} query heads on ${kvHeads} kv heads of ${headDim}`;
}

export function breakEvenText(found: BreakEven): string {
  switch (found.kind) {
    case 'from':
      return `from about ${Math.round(found.context)} tokens`;
    case 'always':
      return `at ${found.shortest} tokens already`;
    case 'never':
      return `not up to ${found.longest} tokens`;
    case 'not measured':
      return 'not measured';
  }
}

function backendNote({ id, device, driver, clock, clocks, copy }: BenchBackend): string {
  const { microseconds, bytes, bytesPerSecond } = copy;
  const at = clocks === null ? '' : `; clocks ${clocks.before} before, ${clocks.after} after`;
  const by = clock === 'gpu' ? 'of the GPU' : 'of the host, from the call to the result';
  return `${id}: ${device}${driver === null ? '' : `, ${driver}`}; times ${by}${at}; a copy of ${Math.round(bytes / 1e6)} MB takes ${timeText(microseconds.median)} us: ${(bytesPerSecond / 1e9).toPrecision(3)} GB/s read and written.`;
}

function rowNotes(rows: readonly BenchRow[]): string[] {
  const reasons = new Map<string, string[]>();
  for (const row of rows) {
    if (row.status === 'measured') {
      for (const reason of row.emulated) add(`emulated: ${reason}`, row.scheme);
    } else add(`${row.status} on ${row.backend}: ${row.reason}`, row.scheme);
  }
  function add(reason: string, scheme: string): void {
    const schemes = reasons.get(reason) ?? [];
    if (!schemes.includes(scheme)) reasons.set(reason, [...schemes, scheme]);
  }
  return [
    'us: median over the samples; MB and GB/s: what a layer has to read and write, without padding; of copy: share of the copy of this run; *: the last-level cache may have held it.',
    ...[...reasons].map(([reason, schemes]) => `${schemes.join(', ')}: ${reason}`),
  ];
}

/** Prompts are new each time; attention meets layers again. */
function isCached(row: BenchMeasuredRow, { lastLevelCacheBytes }: BenchBackend): boolean {
  return (
    row.operation === 'attend' &&
    lastLevelCacheBytes !== null &&
    row.rotatedBytes < lastLevelCacheBytes
  );
}

function changeText(change: BenchChange | undefined): string {
  if (change?.relative == null) return '-';
  const percent = `${change.relative >= 0 ? '+' : ''}${(100 * change.relative).toFixed(1)} %`;
  return change.outcome === 'same' ? percent : `${percent} ${change.outcome}`;
}

/** Three digits. */
export function timeText(microseconds: number): string {
  return microseconds >= 100 ? microseconds.toFixed(0) : String(+microseconds.toPrecision(3));
}

function sameShape(a: BenchShape, b: BenchShape): boolean {
  return (Object.keys(a) as (keyof BenchShape)[]).every((key) => a[key] === b[key]);
}

function heading(title: string, style: TableStyle): string {
  return style === 'markdown' ? `## ${title}\n` : title;
}

function noteLines(note: string, style: TableStyle): string[] {
  return style === 'markdown' ? [`- ${note}`] : wrapLine(note, 2);
}
