/** A gate over a report: which schemes cross which limits, and where. */
import { builtInConditions, syntheticData } from './built-in.js';
import { crosses, type GateCondition } from './condition.js';
import { type Place, placeText, type Reading } from './metric.js';
import { type JudgedReport, type RowFigures, rowFigures } from './report-figures.js';

export interface GateFailure {
  /** Null for a fault of the data or of the whole report. */
  readonly scheme: string | null;
  /** Null where there is no figure to judge. */
  readonly metric: string | null;
  /** As it was written; null for what fails every gate. */
  readonly condition: string | null;
  /** Null when not finite, or not measured. */
  readonly value: number | null;
  readonly limit: number | null;
  readonly place: Place | null;
  /** All of it in a line. */
  readonly message: string;
}

export interface GateResult {
  readonly passed: boolean;
  readonly failures: readonly GateFailure[];
  /** What the built-in gate could not look at, in words. */
  readonly notes: readonly string[];
}

export interface GateOptions {
  /** From `parseCondition`. */
  readonly conditions?: readonly GateCondition[];
  /** The built-in gate as well. */
  readonly builtIn?: boolean;
}

/**
 * f16 is not judged. A row that is invalid, refused, failed or unmeasured fails every gate, and so does a report without a
 * measured scheme or a row without a figure that a condition names: nothing passes because it was not measured. A figure that
 * is not finite crosses every limit.
 */
export function checkGate(report: JudgedReport, options: GateOptions): GateResult {
  const builtIn = options.builtIn === true ? builtInConditions(report) : [];
  const conditions = [
    ...builtIn,
    ...(options.conditions ?? []).map((condition) => ({ ...condition, whereKnown: false })),
  ];
  const failures: GateFailure[] = options.builtIn === true ? syntheticData(report) : [];
  const notes: string[] = [];
  const rows = rowFigures(report).filter(({ level }) => level !== 'baseline');
  if (rows.length === 0) failures.push(unjudged(null, 'the report has no scheme besides f16'));
  for (const row of rows) {
    if (!isMeasured(row)) {
      failures.push(unjudged(row.id, `${row.id} fails every gate: ${row.level}: ${row.reason}`));
      continue;
    }
    for (const condition of conditions) {
      const reading = row.figures.get(condition.metric);
      if (reading === undefined && condition.whereKnown)
        notes.push(`${row.id}: ${condition.metric} is not known and was not judged`);
      else if (reading === undefined || crosses(reading.value, condition))
        failures.push(crossed(row.id, condition, reading));
    }
  }
  return { passed: failures.length === 0, failures, notes };
}

/** Whether a row has figures that mean something. */
export function isMeasured({ level, figures }: RowFigures): boolean {
  return level !== 'invalid' && level !== 'unmeasured' && figures.size > 0;
}

/** A row, or a report, that has nothing to judge. */
export function unjudged(scheme: string | null, message: string): GateFailure {
  return {
    ...{ scheme, metric: null, condition: null, value: null, limit: null, place: null },
    message,
  };
}

function crossed(
  scheme: string,
  condition: GateCondition,
  reading: Reading | undefined,
): GateFailure {
  const { metric, text, limit, percent } = condition;
  const value = reading?.value ?? null;
  const place = reading?.place ?? null;
  const found =
    reading === undefined
      ? 'this row has no such figure'
      : `${metric} ${figureText(value, percent)}`;
  const where = place === null ? '' : ` at ${placeText(place)}`;
  return {
    ...{ scheme, metric, condition: text, value, limit, place },
    message: `${scheme} fails ${text}: ${found}${where}`,
  };
}

/** Three digits. */
export function figureText(value: number | null, percent = false): string {
  if (value === null) return 'not finite';
  return percent
    ? `${Number((100 * value).toPrecision(3))}%`
    : String(Number(value.toPrecision(3)));
}
