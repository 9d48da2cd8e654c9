/**
 * A benchmark against an earlier one: which operations became slower by more than their spread.
 */
import type { BenchMeasuredRow, BenchReport, BenchRow } from './report.js';

/** `slower`, `faster`: by more than the threshold, and the middle halves of the samples do not meet. `lost`: no figure any more. */
export type BenchOutcome = 'slower' | 'faster' | 'same' | 'lost';

export interface BenchChange {
  readonly row: BenchRow;
  /** Median microseconds. */
  readonly before: number;
  readonly after: number | null;
  /** (after - before) / before. */
  readonly relative: number | null;
  readonly outcome: BenchOutcome;
  /** The scheme under this id is another one now. */
  readonly schemeChanged: boolean;
}

export interface BenchComparison {
  /** Rows of both, in the order of the new report. */
  readonly changes: readonly BenchChange[];
  /** Rows measured in one report only. */
  readonly onlyBefore: number;
  readonly onlyAfter: number;
}

/** `threshold` 0.1 is 10 %. */
export function compareBench(
  before: BenchReport,
  after: BenchReport,
  threshold: number,
): BenchComparison {
  const earlier = new Map(
    before.rows.flatMap((row) => (row.status === 'measured' ? [[keyOf(row), row] as const] : [])),
  );
  const changes: BenchChange[] = [];
  let onlyAfter = 0;
  for (const row of after.rows) {
    const base = earlier.get(keyOf(row));
    if (base === undefined) onlyAfter += row.status === 'measured' ? 1 : 0;
    else {
      earlier.delete(keyOf(row));
      changes.push(changeOf(base, row, threshold));
    }
  }
  return { changes, onlyBefore: earlier.size, onlyAfter };
}

function keyOf({ scheme, backend, operation, shape }: BenchRow): string {
  const { batch, context, tokens, queryHeads, kvHeads, headDim } = shape;
  return JSON.stringify([
    ...[scheme, backend, operation, batch, context, tokens, queryHeads, kvHeads, headDim],
  ]);
}

function changeOf(base: BenchMeasuredRow, row: BenchRow, threshold: number): BenchChange {
  const before = base.microseconds;
  const common = {
    row,
    before: before.median,
    schemeChanged: base.fingerprint !== row.fingerprint,
  };
  if (row.status !== 'measured') return { ...common, after: null, relative: null, outcome: 'lost' };
  const after = row.microseconds;
  const slower = after.median > before.median * (1 + threshold);
  const faster = before.median > after.median * (1 + threshold);
  return {
    ...common,
    after: after.median,
    relative: before.median === 0 ? null : after.median / before.median - 1,
    outcome:
      slower && after.lowerQuartile > before.upperQuartile
        ? 'slower'
        : faster && after.upperQuartile < before.lowerQuartile
          ? 'faster'
          : 'same',
  };
}
