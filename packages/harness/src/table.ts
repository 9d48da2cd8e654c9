/**
 * A report as text: two tables (accuracy, size) of at most 120 columns, or as Markdown, and a verdict per scheme. No
 * colours.
 */
import type {
  CompareReport,
  MeasuredRow,
  SchemeRow,
  SimulatedRow,
  VerdictLevel,
} from './report.js';
import { renderTable, type TableStyle, TEXT_COLUMNS, wrapLine } from './text-table.js';

interface Column<Row = MeasuredRow> {
  readonly head: string;
  readonly cell: (row: Row) => string;
}

/** Rows with errors of their own. */
type FiguredRow = MeasuredRow | SimulatedRow;

const ACCURACY: readonly Column<FiguredRow>[] = [
  { head: 'K nmse', cell: (row) => figure(row.key.nmse) },
  { head: 'V nmse', cell: (row) => figure(row.value.nmse) },
  { head: 'output nmse', cell: (row) => figure(row.output.nmse) },
  {
    head: 'worst layer',
    cell: ({ output: { worstLayer } }) => `${figure(worstLayer.nmse)} L${worstLayer.layer}`,
  },
  {
    head: 'worst head',
    cell: ({ output: { worstHead } }) =>
      `${figure(worstHead.nmse)} L${worstHead.layer} h${worstHead.head}`,
  },
  { head: 'max error', cell: (row) => figure(row.output.maxAbsError.value) },
  { head: 'verdict', cell: (row) => row.verdict.level },
];

const SIZE: readonly Column[] = [
  { head: 'bits', cell: (row) => row.bits.used.toFixed(2) },
  { head: 'codes', cell: (row) => row.bits.codes.toFixed(2) },
  { head: 'params', cell: (row) => row.bits.parameters.toFixed(2) },
  { head: 'outliers', cell: (row) => row.bits.outliers.toFixed(2) },
  { head: 'windows', cell: (row) => row.bits.windows.toFixed(2) },
  { head: 'unused', cell: (row) => row.bits.unused.toFixed(2) },
  { head: 'packed', cell: (row) => row.bits.packed?.total.toFixed(2) ?? '-' },
];

/** Bits while the errors were measured, with a mark on the schemes that none beats; digits stay in line. */
function markedBits({ paretoFront }: CompareReport): Column<FiguredRow> {
  return {
    head: 'bits  ',
    cell: (row) =>
      row.status === 'simulated'
        ? row.status
        : `${row.bits.attended.toFixed(2)} ${paretoFront.includes(row.id) ? '*' : ' '}`,
  };
}

/** Title, tables, notes and verdicts, lines joined by line breaks. */
export function formatReport(report: CompareReport, style: TableStyle = 'text'): string {
  const measured = report.schemes.find((row) => row.status === 'measured');
  const memory = (measured?.memory ?? []).map(
    ({ tokens }, i): Column => ({
      head: `${tokens / 1024}K`,
      cell: (row) => bytesText(row.memory[i]?.bytes ?? Number.NaN),
    }),
  );
  const saving: Column = {
    head: 'vs f16',
    cell: (row) => `${row.memory.at(-1)?.ratio.toFixed(2)}x`,
  };
  const heading = (text: string) => (style === 'markdown' ? [`## ${text}`, ''] : [text]);
  const lines = [
    ...titleLines(report),
    '',
    ...heading('Accuracy'),
    ...renderTable(accuracyRows(report), style),
    '',
    ...heading(
      `Size: bits per element after ${report.capture.tokens} tokens; memory at longer contexts`,
    ),
    ...renderTable(sizeRows(report, [...SIZE, ...memory, saving]), style),
    '',
    ...noteLines(report),
    '',
    ...heading('Verdicts'),
    ...report.schemes.map((row) => verdictLine(row, style)),
  ];
  return (style === 'markdown' ? lines : lines.flatMap((line) => wrapped(line))).join('\n');
}

const WORDS: Readonly<Record<VerdictLevel, string>> = {
  baseline: 'baseline',
  safe: 'safe',
  care: 'usable with care',
  unsafe: 'unsafe',
  unmeasured: 'not measured',
  refused: 'refused',
  invalid: 'INVALID',
};

/** `id: level: reason`. */
export function verdictLine(
  { id, verdict }: Pick<SchemeRow, 'id' | 'verdict'>,
  style: TableStyle,
): string {
  return style === 'markdown'
    ? `- **${id}** ${WORDS[verdict.level]}: ${verdict.reason}`
    : `${id}: ${WORDS[verdict.level]}: ${verdict.reason}`;
}

/** Tables are as narrow as this already; what is longer is prose. */
export function wrapped(line: string): string[] {
  return line.length <= TEXT_COLUMNS ? [line] : wrapLine(line, 2);
}

function accuracyRows(report: CompareReport): string[][] {
  const columns = [markedBits(report), ...ACCURACY];
  return [
    ['scheme', ...columns.map(({ head }) => head)],
    ...report.schemes.map((row) =>
      row.status === 'measured' || row.status === 'simulated'
        ? [row.id, ...columns.map(({ cell }) => cell(row))]
        : [row.id, `${row.status}: see below`],
    ),
  ];
}

function sizeRows({ schemes }: CompareReport, columns: readonly Column[]): string[][] {
  return [
    ['scheme', ...columns.map(({ head }) => head)],
    ...schemes.map((row) => {
      if (row.status === 'measured') return [row.id, ...columns.map(({ cell }) => cell(row))];
      return [row.id, row.status === 'simulated' ? 'no bytes' : `${row.status}: see below`];
    }),
  ];
}

function titleLines({ capture, backend, replay }: CompareReport): string[] {
  const { model, text } = capture.provenance;
  const of = capture.modelLayers === null ? '' : ` of ${capture.modelLayers}`;
  const dims =
    capture.keyHeadDim === capture.valueHeadDim
      ? `${capture.keyHeadDim}`
      : `${capture.keyHeadDim} (keys) and ${capture.valueHeadDim} (values)`;
  return [
    plain(`${model ?? capture.file}${text === undefined ? '' : `; ${text}`}`),
    `layers ${capture.layers.join(', ')}${of}, ${capture.queryHeads} query heads on ${capture.kvHeads} kv heads, head dim ${dims}, ${capture.tokens} tokens`,
    `backend ${backend.id} (${backend.device}): ${replay.description}`,
  ];
}

/** Metadata are whatever a file says: no control characters reach a terminal, and no line of its own. */
export function plain(text: string): string {
  const visible = text.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${(character.codePointAt(0) as number).toString(16)}}`,
  );
  return visible.length > 240 ? `${visible.slice(0, 237)}...` : visible;
}

function noteLines({ capture, schemes, thresholds, paretoFront }: CompareReport): string[] {
  const first = capture.data[0];
  const last = capture.data.at(-1);
  const notes = [
    'NMSE is noise power over signal power against float64 attention over the f16 capture; L is a layer, h a query head.',
    ...(paretoFront.length > 0
      ? [
          'Bits beside the errors are the mean over the attended steps; * no other scheme here has both at most these bits and at most its output nmse.',
        ]
      : []),
    `Verdicts: safe up to ${thresholds.safeWorstHead} in the worst head and ${thresholds.safeWorstLayer} in the worst layer, care up to ${thresholds.careWorstHead} and ${thresholds.careWorstLayer}; averages decide nothing.`,
    `Memory is one sequence of ${capture.modelLayers === null ? `the ${capture.layers.length} captured layers` : `all ${capture.modelLayers} layers`} at 8K, 32K and 128K tokens, pages in use; unused is padding, empty slots and room reserved for outliers; packed is bits of packed tokens alone, without windows.`,
  ];
  const shares = schemes.flatMap((row) =>
    row.status === 'measured' ? row.held.map(({ packed }) => 1 - packed / capture.tokens) : [],
  );
  if (shares.some((share) => share > 0)) {
    notes.push(
      `Windows held up to ${Math.round(100 * Math.max(...shares))} % of the tokens in f16 here; a longer context has fewer.`,
    );
  }
  const largest = capture.data.map(({ layer, keyChannelOutliers }) => ({
    layer,
    ratio: Math.max(...keyChannelOutliers.map((ratio) => ratio ?? 0)),
  }));
  const worst = largest.reduce((a, b) => (b.ratio > a.ratio ? b : a));
  notes.push(
    `Data: key channel outliers up to ${worst.ratio.toFixed(1)}x the median channel (layer ${worst.layer}); value rms ${figure(first?.valueRootMeanSquare ?? null)} in layer ${first?.layer} and ${figure(last?.valueRootMeanSquare ?? null)} in layer ${last?.layer}.`,
  );
  const sources = new Map<string, string[]>();
  for (const row of schemes) {
    if (!('calibration' in row) || row.calibration === null) continue;
    const { source, description } = row.calibration;
    const text = source === 'given' ? `given (${description})` : description;
    sources.set(text, [...(sources.get(text) ?? []), row.id]);
  }
  for (const row of schemes) {
    if (row.status !== 'measured' || row.emulated.length === 0) continue;
    notes.push(`Emulated by the backend: ${row.id} (${row.emulated.join('; ')}).`);
  }
  for (const [text, ids] of sources) notes.push(`Calibrated on ${text}: ${ids.join(', ')}.`);
  return notes;
}

function bytesText(bytes: number): string {
  const units = ['B', 'K', 'M', 'G', 'T'];
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${value >= 100 || unit === 0 ? value.toFixed(0) : value.toPrecision(3)}${units[unit]}`;
}

export function figure(value: number | null): string {
  if (value === null) return '-';
  if (value === 0) return '0';
  return value >= 0.001 && value < 1000 ? value.toPrecision(2) : value.toExponential(0);
}
