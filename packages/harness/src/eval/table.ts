/** A report as text: tables of at most 120 columns, or as Markdown, notes and a verdict per scheme. No colours. */
import { figure, plain, verdictLine, wrapped } from '../table.js';
import { renderTable, type TableStyle } from '../text-table.js';
import type { EvalMeasuredRow, EvalReport } from './report.js';
import { retrievalLines } from './retrieval-table.js';

interface Column {
  readonly head: string;
  readonly cell: (row: EvalMeasuredRow) => string;
}

const QUALITY: readonly Column[] = [
  {
    head: 'perplexity',
    cell: ({ perplexity: { value, standardError } }) =>
      `${fixed(value, 3)} +- ${fixed(standardError, 3)}`,
  },
  {
    head: 'delta nll',
    cell: ({ deltaNegativeLog: { mean, standardError } }) =>
      `${signed(mean, 4)} +- ${fixed(standardError, 4)}`,
  },
  { head: 'KL mean', cell: ({ divergence }) => divergenceText(divergence.mean) },
  { head: 'KL p99', cell: ({ divergence }) => divergenceText(divergence.p99) },
  {
    head: 'worst bucket',
    cell: (row) =>
      `${divergenceText(worstBucketOf(row)?.divergence.mean ?? null)} @${row.worstBucket.from}`,
  },
  { head: 'top-1', cell: ({ topAgreement }) => percent(topAgreement.mean) },
  {
    head: 'mean dp',
    cell: ({ probabilityChange }) => `${signed(hundredfold(probabilityChange.mean), 2)} %`,
  },
  { head: 'rms dp', cell: ({ probabilityChange }) => percent(probabilityChange.rootMeanSquare) },
  { head: 'verdict', cell: ({ verdict }) => verdict.level },
];

const COST: readonly Column[] = [
  { head: 'bits', cell: ({ bits }) => fixed(bits.stored, 2) },
  { head: 'asymptotic', cell: ({ bits }) => bits.asymptotic.toFixed(2) },
  {
    head: 'worst keys',
    cell: ({ noise: { worstKeys } }) => `${figure(worstKeys.nmse)} L${worstKeys.layer}`,
  },
  {
    head: 'worst values',
    cell: ({ noise: { worstValues } }) => `${figure(worstValues.nmse)} L${worstValues.layer}`,
  },
  {
    head: 'worst layer',
    cell: ({ noise: { worstLayer } }) => `${figure(worstLayer.nmse)} L${worstLayer.layer}`,
  },
  {
    head: 'worst head',
    cell: ({ noise: { worstHead } }) =>
      `${figure(worstHead.nmse)} L${worstHead.layer} h${worstHead.head}`,
  },
  { head: 'tokens/s', cell: ({ rate }) => fixed(rate.tokensPerSecond, 0) },
  {
    head: 'of uncut',
    cell: ({ rate }) => `${fixed(rate.percentOfUncut, 0)} %`,
  },
];

/** Title, tables, notes and verdicts, lines joined by line breaks. */
export function formatEvalReport(report: EvalReport, style: TableStyle = 'text'): string {
  const heading = (text: string) => (style === 'markdown' ? [`## ${text}`, ''] : [text]);
  const lines = [
    ...titleLines(report),
    '',
    ...heading('Quality: against f16 at every position'),
    ...renderTable(tableRows(report, QUALITY), style),
    '',
    ...heading('Bits per element, NMSE of keys, values and attention outputs, rate'),
    ...renderTable(tableRows(report, COST), style),
    '',
    ...heading('Mean KL by position'),
    ...renderTable(tableRows(report, bucketColumns(report)), style),
    '',
    ...(report.retrieval === null
      ? []
      : [
          ...heading('Retrieval: log-probability of the key, per token, by depth'),
          ...retrievalLines(report.retrieval, style),
          '',
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
  return (measured?.buckets ?? []).map(({ from, to }, i) => ({
    head: `${from}..${to - 1}`,
    cell: ({ buckets }) => divergenceText(buckets[i]?.divergence.mean ?? null),
  }));
}

function titleLines({ model, text, windows, uncut, settings, command }: EvalReport): string[] {
  const facts = Object.entries(settings).map(([name, value]) => `${name} ${value}`);
  return [
    plain(
      `${model.name} (${model.fingerprint.slice(0, 12)}), ${model.layers} layers, vocabulary ${model.vocabularySize}`,
    ),
    plain(
      `text ${text.name} (${text.sha256.slice(0, 12)}), ${text.tokens} tokens: ${windows.count} windows of ${windows.windowTokens}, ${windows.predictions} predictions`,
    ),
    ...(facts.length === 0 ? [] : [plain(facts.join(', '))]),
    ...(command === null ? [] : [plain(command)]),
    `uncut model: ${fixed(uncut.tokensPerSecond, 0)} tokens/s`,
  ];
}

function noteLines({ windows, thresholds, checks, resumed, schemes }: EvalReport): string[] {
  const notes = [
    `Windows: ${windows.description}.`,
    'Errors after +- are standard errors; that of delta nll is paired, of the differences to f16 at each token. KL is KL(f16 || scheme) in nats; dp is the change of the probability of the right token; the worst bucket is named by its first position; L is a layer, h a query head.',
    'Bits are those stored at the end of a window, f16 windows included; asymptotic are those of packed blocks. Rates are wall clock, model and metrics.',
    `Verdicts: safe up to KL p99 ${thresholds.safeDivergenceP99}, mean KL ${thresholds.safeWorstBucket} in the worst bucket and output NMSE ${thresholds.safeWorstLayer} in the worst layer, care up to ${thresholds.careDivergenceP99}, ${thresholds.careWorstBucket} and ${thresholds.careWorstLayer}; averages decide nothing.`,
    ...checks.map(({ name, detail }) => `Check ${name}: ${detail}.`),
  ];
  for (const row of schemes) {
    if (row.status === 'measured' && row.calibration !== null)
      notes.push(plain(`Calibration of ${row.id}: ${row.calibration}.`));
  }
  if (resumed.records > 0)
    notes.push(`${resumed.records} results were taken from earlier runs, with their rates.`);
  for (const { key, reason } of resumed.damaged)
    notes.push(`The stored result ${key.slice(0, 12)} was damaged (${reason}) and measured again.`);
  return notes;
}

function worstBucketOf({ buckets, worstBucket }: EvalMeasuredRow) {
  return buckets.find(({ from }) => from === worstBucket.from);
}

/** Tiny divergences may be negative by rounding. */
function divergenceText(value: number | null): string {
  if (value === null) return '-';
  return value < 0 ? `-${figure(-value)}` : figure(value);
}

function fixed(value: number | null, digits: number): string {
  if (value === null) return '-';
  return Math.abs(value) < 1e6 ? value.toFixed(digits) : value.toExponential(2);
}

function signed(value: number | null, digits: number): string {
  return value !== null && value > 0 ? `+${fixed(value, digits)}` : fixed(value, digits);
}

function hundredfold(value: number | null): number | null {
  return value === null ? null : 100 * value;
}

function percent(value: number | null): string {
  return value === null ? '-' : `${fixed(100 * value, 1)} %`;
}
