/**
 * A report as CSV (RFC 4180): one row per scheme, columns that keep their names and order. README.md says what they hold.
 */
import {
  type CompareReport,
  type EvalReport,
  MEMORY_TOKENS,
  type MemoryFigure,
} from '@lowbit-kv/harness';
import { visible } from './markup.js';
import { type AnyReport, isComparison } from './report-kind.js';

type Cell = string | number | boolean | null | undefined;
type Column<Row> = readonly [name: string, cell: (row: Row) => Cell];
type CompareRow = CompareReport['schemes'][number];
type EvalRow = EvalReport['schemes'][number];

/** Figures of rows that were measured; empty cells for the others. */
function when<Row extends { readonly status: string }, Status extends Row['status']>(
  statuses: readonly Status[],
  cell: (row: Extract<Row, { readonly status: Status }>) => Cell,
): (row: Row) => Cell {
  return (row) =>
    statuses.some((status) => status === row.status)
      ? cell(row as Extract<Row, { readonly status: Status }>)
      : null;
}

const identity: readonly Column<CompareRow | EvalRow>[] = [
  ['id', ({ id }) => id],
  ['title', ({ title }) => title],
  ['fingerprint', (row) => ('fingerprint' in row ? row.fingerprint : null)],
  ['status', ({ status }) => status],
  ['verdict', ({ verdict }) => verdict.level],
  ['reason', ({ verdict }) => verdict.reason],
];

const stored = (cell: (row: Extract<CompareRow, { status: 'measured' }>) => Cell) =>
  when<CompareRow, 'measured'>(['measured'], cell);
const attended = (cell: (row: Extract<CompareRow, { status: 'measured' | 'simulated' }>) => Cell) =>
  when<CompareRow, 'measured' | 'simulated'>(['measured', 'simulated'], (row) => cell(row));

function compareColumns({ paretoFront }: CompareReport): readonly Column<CompareRow>[] {
  return [
    ...identity,
    ['pareto', ({ id }) => paretoFront.includes(id)],
    ['bits_attended', stored(({ bits }) => bits.attended)],
    ['bits_total', stored(({ bits }) => bits.total)],
    ['bits_packed', stored(({ bits }) => bits.packed?.total)],
    ['output_nmse', attended(({ output }) => output.nmse)],
    ['worst_layer', attended(({ output }) => output.worstLayer.layer)],
    ['worst_layer_nmse', attended(({ output }) => output.worstLayer.nmse)],
    ['worst_head_layer', attended(({ output }) => output.worstHead.layer)],
    ['worst_head', attended(({ output }) => output.worstHead.head)],
    ['worst_head_nmse', attended(({ output }) => output.worstHead.nmse)],
    ['key_nmse', attended(({ key }) => key.nmse)],
    ['value_nmse', attended(({ value }) => value.nmse)],
    ...MEMORY_TOKENS.flatMap((tokens): Column<CompareRow>[] => {
      const at = (row: { readonly memory: readonly MemoryFigure[] }) =>
        row.memory.find((figure) => figure.tokens === tokens);
      return [
        [`bytes_${tokens}`, stored((row) => at(row)?.bytes)],
        [`f16_bytes_${tokens}`, stored((row) => at(row)?.f16Bytes)],
      ];
    }),
  ];
}

const logits = (cell: (row: Extract<EvalRow, { status: 'measured' }>) => Cell) =>
  when<EvalRow, 'measured'>(['measured'], cell);

const EVAL_COLUMNS: readonly Column<EvalRow>[] = [
  ...identity,
  ['bits_stored', logits(({ bits }) => bits.stored)],
  ['bits_asymptotic', logits(({ bits }) => bits.asymptotic)],
  ['perplexity', logits(({ perplexity }) => perplexity.value)],
  ['perplexity_ratio', logits(({ perplexityRatio }) => perplexityRatio.value)],
  ['delta_nll', logits(({ deltaNegativeLog }) => deltaNegativeLog.mean)],
  ['kl_mean', logits(({ divergence }) => divergence.mean)],
  ['kl_p99', logits(({ divergence }) => divergence.p99)],
  ['kl_max', logits(({ divergence }) => divergence.max.value)],
  ['top1_agreement', logits(({ topAgreement }) => topAgreement.mean)],
  ['worst_bucket_from', logits(({ worstBucket }) => worstBucket.from)],
  ['worst_bucket_to', logits(({ worstBucket }) => worstBucket.to)],
  ['worst_keys_layer', logits(({ noise }) => noise.worstKeys.layer)],
  ['worst_keys_nmse', logits(({ noise }) => noise.worstKeys.nmse)],
  ['worst_values_layer', logits(({ noise }) => noise.worstValues.layer)],
  ['worst_values_nmse', logits(({ noise }) => noise.worstValues.nmse)],
  ['worst_layer', logits(({ noise }) => noise.worstLayer?.layer)],
  ['worst_layer_nmse', logits(({ noise }) => noise.worstLayer?.nmse)],
  ['tokens_per_second', logits(({ rate }) => rate.tokensPerSecond)],
];

/** Lines end in CR LF, the first one holds the names. Figures that are not finite or not there are empty. */
export function renderCsv(report: AnyReport): string {
  return isComparison(report)
    ? csvLines(compareColumns(report), report.schemes)
    : csvLines(EVAL_COLUMNS, report.schemes);
}

function csvLines<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const lines = [
    columns.map(([name]) => name),
    ...rows.map((row) => columns.map(([, cell]) => csvCell(cell(row)))),
  ];
  return lines.map((line) => `${line.join(',')}\r\n`).join('');
}

function csvCell(cell: Cell): string {
  if (cell === null || cell === undefined) return '';
  if (typeof cell !== 'string') return String(cell);
  const text = visible(cell);
  // Spreadsheets run what looks like a formula.
  const safe = /^[=+\-@]/.test(text) ? `'${text}` : text;
  return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
