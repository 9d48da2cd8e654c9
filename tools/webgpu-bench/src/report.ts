/**
 * Rows as Markdown.
 */
import type { Precision, Shape } from './flags.js';
import type { Errors } from './measure-errors.js';
import type { StepTimes } from './time-step.js';

interface RowOf {
  readonly plan: string;
  readonly precision: Precision;
}

export interface SpeedRow extends RowOf, Shape, StepTimes {
  readonly layers: number;
  /** Of one layer, as the planner counts them, without padding. */
  readonly bytes: number;
  /** Bytes a second. */
  readonly rate: number;
  /** Time that reading the bytes once takes, as a share of the time measured. */
  readonly shareOfFloor: number;
}

/** A shape that the backend does not take, and why. */
export interface RefusedRow extends RowOf, Shape {
  readonly refused: string;
}

export interface ErrorRow extends RowOf, Errors {}

export function speedTable(rows: readonly (SpeedRow | RefusedRow)[]): string {
  return table(
    [
      ...[
        'plan',
        'precision',
        'batch',
        'tokens',
        'queries per kv head',
        'query tokens',
        'us',
        'MB',
      ],
      ...['GB/s', '% of floor', 'append us', 'record us', 'layers'],
    ],
    rows.map((row) => {
      const shape = [row.plan, row.precision, row.batch, row.tokens, row.group, row.queries];
      if ('refused' in row) return [...shape, 'refused', ...Array<string>(6).fill('')];
      return [
        ...shape,
        row.attend.toFixed(1),
        (row.bytes / 1e6).toFixed(1),
        (row.rate / 1e9).toFixed(0),
        (row.shareOfFloor * 100).toFixed(0),
        row.append.toFixed(1),
        row.record.toFixed(0),
        row.layers,
      ];
    }),
  );
}

export function errorTable(rows: readonly ErrorRow[]): string {
  return table(
    ['plan', 'precision', 'data', 'worst error', 'quantization noise', 'share of the noise'],
    rows.map(({ plan, precision, data, error, noise, shareOfNoise }) => [
      ...[plan, precision, data, error.toExponential(1), noise.toExponential(1)],
      shareOfNoise === null ? '' : shareOfNoise.toFixed(3),
    ]),
  );
}

export function table(
  head: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): string {
  const line = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
