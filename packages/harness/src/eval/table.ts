/** A report as text: tables of at most 120 columns, or as Markdown, notes and a verdict per scheme. No colours. */
import { plain, verdictLine, wrapped } from '../table.js';
import { renderTable, type TableStyle } from '../text-table.js';
import { noteLines } from './notes.js';
import type { EvalMeasuredRow, EvalReport } from './report.js';
import { retrievalLines } from './retrieval-table.js';
import { fixed, percent, signed, tiny, withError } from './table-figures.js';

interface Column {
  readonly head: string;
  readonly cell: (row: EvalMeasuredRow) => string;
}

const QUALITY: readonly Column[] = [
  { head: 'bits', cell: ({ bits }) => fixed(bits.stored, 2) },
  {
    head: 'perplexity',
    cell: ({ perplexity }) => withError(fixed(perplexity.value, 3), perplexity, 3),
  },
  {
    head: 'delta nll',
    cell: ({ deltaNegativeLog }) =>
      withError(signed(deltaNegativeLog.mean, 4), deltaNegativeLog, 4),
  },
  {
    head: 'mean dp',
    cell: ({ probabilityChange: { mean } }) => `${signed(mean === null ? null : 100 * mean, 2)} %`,
  },
  { head: 'rms dp', cell: ({ probabilityChange }) => percent(probabilityChange.rootMeanSquare) },
  { head: 'top-1', cell: ({ topAgreement }) => percent(topAgreement.mean) },
  { head: 'verdict', cell: ({ verdict }) => verdict.level },
];

const DIVERGENCE: readonly Column[] = [
  { head: 'mean', cell: ({ divergence }) => tiny(divergence.mean) },
  { head: 'p99', cell: ({ divergence }) => tiny(divergence.p99) },
];

const NOISE: readonly Column[] = [
  {
    head: 'worst keys',
    cell: ({ noise: { worstKeys } }) => `${tiny(worstKeys.nmse)} L${worstKeys.layer}`,
  },
  {
    head: 'worst values',
    cell: ({ noise: { worstValues } }) => `${tiny(worstValues.nmse)} L${worstValues.layer}`,
  },
  {
    head: 'worst layer',
    cell: ({ noise: { worstLayer } }) =>
      worstLayer === null ? '-' : `${tiny(worstLayer.nmse)} L${worstLayer.layer}`,
  },
  {
    head: 'worst head',
    cell: ({ noise: { worstHead } }) =>
      worstHead === null ? '-' : `${tiny(worstHead.nmse)} L${worstHead.layer} h${worstHead.head}`,
  },
  { head: 'asymptotic bits', cell: ({ bits }) => fixed(bits.asymptotic, 2) },
  { head: 'tokens/s', cell: ({ rate }) => fixed(rate.tokensPerSecond, 0) },
  { head: 'of uncut', cell: ({ rate }) => `${fixed(rate.percentOfUncut, 0)} %` },
];

/** Title, tables, notes and verdicts, lines joined by line breaks. */
export function formatEvalReport(report: EvalReport, style: TableStyle = 'text'): string {
  const heading = (text: string) => (style === 'markdown' ? [`## ${text}`, ''] : [text]);
  const section = (title: string, columns: readonly Column[]) => [
    ...heading(title),
    ...renderTable(tableRows(report, columns), style),
    '',
  ];
  const lines = [
    ...titleLines(report),
    '',
    ...section('Quality against f16', QUALITY),
    ...section('KL(f16 || scheme) in nats: mean, p99, and mean from each position to the next', [
      ...DIVERGENCE,
      ...bucketColumns(report),
    ]),
    ...section('NMSE of keys, values and attention outputs, and speed', NOISE),
    ...(report.retrieval === null
      ? []
      : [
          ...heading('Retrieval: log-probability of the key, per token, by its depth'),
          ...retrievalLines(report.retrieval, style),
        ]),
    ...noteLines(report),
    '',
    ...heading('Verdicts'),
    ...report.schemes.map((row) => verdictLine(row, style)),
  ];
  return (style === 'markdown' ? lines : lines.flatMap(wrapped)).join('\n');
}

function tableRows({ schemes }: EvalReport, columns: readonly Column[]): string[][] {
  return [
    ['scheme', ...columns.map(({ head }) => head)],
    ...schemes.map((row) =>
      row.status === 'measured'
        ? [row.id, ...columns.map(({ cell }) => cell(row))]
        : [row.id, `${row.status}: see below`],
    ),
  ];
}

/** At the buckets of f16, which all rows share. */
function bucketColumns({ schemes }: EvalReport): Column[] {
  const measured = schemes.find((row) => row.status === 'measured');
  return (measured?.buckets ?? []).map(({ from }, i) => ({
    head: `@${from}`,
    cell: ({ buckets }) => tiny(buckets[i]?.divergence.mean ?? null),
  }));
}

function titleLines({ model, text, windows, uncut, settings, command }: EvalReport): string[] {
  const facts = Object.entries(settings).map(([name, value]) => `${name} ${value}`);
  return [
    plain(
      `${model.name} (${model.fingerprint.slice(0, 12)}), ${model.layers} layers, vocabulary ${model.vocabularySize}`,
    ),
    plain(
      `text ${text.name} (${text.sha256.slice(0, 12)}), ${text.tokens} tokens: ${windows.count} windows of ${windows.windowTokens} (${windows.tokensSha256.slice(0, 12)}), ${windows.predictions} predictions`,
    ),
    ...(facts.length === 0 ? [] : [plain(facts.join(', '))]),
    ...(command === null ? [] : [plain(command)]),
    `uncut model: ${fixed(uncut.tokensPerSecond, 0)} tokens/s`,
  ];
}
