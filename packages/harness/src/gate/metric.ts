/** What gates and diffs know of a figure of a report: its name, unit, direction and place. */

/** Where in a model or text the worst of a figure stands. */
export interface Place {
  readonly layer?: number;
  readonly head?: number;
  readonly window?: number;
  readonly position?: number;
  /** Positions `from <= position < to`. */
  readonly from?: number;
  readonly to?: number;
  /** Of a context, in tokens. */
  readonly tokens?: number;
  /** Of a pass key in its context, percent. */
  readonly depth?: number;
}

/** `ratio`: 0.01 may be written 1%. */
export type Unit =
  | 'NMSE'
  | 'nats'
  | 'bits per element'
  | 'ratio'
  | 'times'
  | 'perplexity'
  | 'value';

export interface MetricInfo {
  readonly name: string;
  readonly unit: Unit;
  readonly better: 'lower' | 'higher';
  /** The field of a scheme's row, or of the report. */
  readonly field: string;
  readonly what: string;
}

/** A figure of one row. */
export interface Reading {
  /** Null when it is not finite. */
  readonly value: number | null;
  readonly place?: Place;
  /** Standard error, paired with f16 on the same tokens; the larger of the two kinds. */
  readonly standardError?: number | null;
}

/** How a figure is read from a row; null where rows of this kind have no such figure. */
export interface Metric<Report, Row> extends MetricInfo {
  readonly read: (row: Row, report: Report) => Reading | null;
}

export function placeText(place: Place): string {
  const { from, to, ...single } = place;
  const parts = Object.entries(single).map(([name, value]) =>
    name === 'depth' ? `depth ${value} %` : `${name} ${value}`,
  );
  if (from !== undefined && to !== undefined) parts.push(`positions ${from} to ${to - 1}`);
  return parts.join(' ');
}
