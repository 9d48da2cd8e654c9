/**
 * Estimates as tables of at most 120 columns, in text or Markdown.
 */
import { type Column, textTable } from '../text-table.js';
import type { EstimatedRow, EstimateReport } from './estimate-report.js';
import { sizeText } from './memory-size.js';

const ID_WIDTH = 32;
/** Token counts of one table. */
const PER_TABLE = 3;
const WIDTH = 120;

interface Table {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly string[])[];
}

export function formatEstimate(report: EstimateReport, style: 'text' | 'markdown'): string[] {
  const rows = report.schemes.filter((row) => row.status === 'estimated');
  const refused = report.schemes.filter((row) => row.status === 'refused');
  const lines = [...heading(report), ''];
  for (const table of tables(report, rows)) lines.push(...render(table, style), '');
  for (const { id, reason } of refused)
    lines.push(...wrapped(`${id} cannot be planned: ${reason}`));
  if (refused.length > 0) lines.push('');
  return [...lines, ...NOTES.flatMap(wrapped)];
}

const NOTES = [
  'bits: per element of full packed blocks, with parameters, offsets and padding. bytes: whole pages of keys and values over ' +
    'all layers, f16 windows and room reserved for outliers included, a sequence appended at once. ratio: f16 without pages over these bytes.',
];

function heading({ source, geometry, sequences, maxPositions }: EstimateReport): string[] {
  const { layers, queryHeads, kvHeads, keyHeadDim, valueHeadDim } = geometry;
  const dims = keyHeadDim === valueHeadDim ? keyHeadDim : `${keyHeadDim}/${valueHeadDim}`;
  const most = maxPositions === null ? '' : `, made for ${maxPositions} tokens`;
  const count = sequences === 1 ? '1 sequence' : `${sequences} sequences`;
  return wrapped(
    `${count} of a model with ${layers} layers of ${queryHeads} query and ${kvHeads} kv heads of ${dims} channels${most} (${source})`,
  );
}

function tables(report: EstimateReport, rows: readonly EstimatedRow[]): Table[] {
  const lengths = rows[0]?.lengths.map(({ tokens }) => tokens) ?? [];
  const result: Table[] = [];
  for (let first = 0; first < lengths.length; first += PER_TABLE) {
    const part = lengths.slice(first, first + PER_TABLE);
    result.push({
      columns: [
        { title: 'scheme' },
        { title: 'bits', align: 'right' },
        ...part.flatMap((tokens): Column[] => [
          { title: `${tokens} tokens`, align: 'right' },
          { title: 'ratio', align: 'right' },
        ]),
      ],
      rows: rows.map(({ id, bitsPerElement, lengths: all }) => [
        shortened(id),
        bitsPerElement.toFixed(3),
        ...all
          .slice(first, first + PER_TABLE)
          .flatMap(({ bytes, ratio }) => [sizeText(bytes), `${ratio.toFixed(2)}x`]),
      ]),
    });
  }
  const { memory } = report;
  if (memory === null || rows.length === 0) return result;
  for (let first = 0; first < lengths.length; first += PER_TABLE) {
    const part = lengths.slice(first, first + PER_TABLE);
    result.push({
      columns: [
        { title: `in ${sizeText(memory)}` },
        { title: report.sequences === 1 ? 'tokens' : 'tokens each', align: 'right' },
        ...part.map((tokens): Column => ({ title: `sequences of ${tokens}`, align: 'right' })),
      ],
      rows: rows.map((row) => [
        shortened(row.id),
        row.anyLengthFits ? 'any' : String(row.tokensThatFit),
        ...row.lengths
          .slice(first, first + PER_TABLE)
          .map(({ sequencesThatFit }) => String(sequencesThatFit)),
      ]),
    });
  }
  return result;
}

function render({ columns, rows }: Table, style: 'text' | 'markdown'): string[] {
  if (style === 'text') return textTable(columns, rows);
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [
    line(columns.map(({ title }) => title)),
    line(columns.map(({ align }) => (align === 'right' ? '---:' : '---'))),
    ...rows.map(line),
  ];
}

function shortened(id: string): string {
  return id.length > ID_WIDTH ? `${id.slice(0, ID_WIDTH - 1)}…` : id;
}

function wrapped(text: string): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > WIDTH) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
