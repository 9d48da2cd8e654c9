/** Joins reports of one comparison that was split over processes by schemes. */
import { canonicalJson, LowbitKvError } from '@lowbit-kv/core';
import { paretoFront } from './pareto.js';
import type { CompareReport } from './report.js';

/**
 * Rows in the order of `ids`, after f16. Throws MEASUREMENT_INVALID when the reports are not of one capture, backend and
 * version (their baselines must be equal to the byte), or when a row is missing.
 */
export function mergeReports(
  reports: readonly CompareReport[],
  ids: readonly string[],
): CompareReport {
  const refuse = (message: string, value: unknown): never => {
    throw new LowbitKvError('MEASUREMENT_INVALID', {
      message,
      value,
      valid: 'reports of one capture on one backend, by one version, that cover all schemes',
      next: 'Run the comparison in one process, scheme by scheme, and see which part differs.',
    });
  };
  const [first, ...others] = reports;
  if (first === undefined) return refuse('there is no report to merge', 0);
  for (const other of others) {
    if (commonPart(other) !== commonPart(first))
      refuse('the parts of a comparison disagree on what they share', other.backend);
  }
  const rows = reports.flatMap((report) => report.schemes.slice(1));
  const ordered = ids.map(
    (id) => rows.find((row) => row.id === id) ?? refuse('a scheme is in no part', id),
  );
  const schemes = [...first.schemes.slice(0, 1), ...ordered];
  return {
    ...first,
    valid: reports.every(({ valid }) => valid),
    schemes,
    paretoFront: paretoFront(schemes),
  };
}

/** Everything but the rows of schemes and what follows from them. */
function commonPart({ schemes, valid, paretoFront: _, ...shared }: CompareReport): string {
  return canonicalJson({ ...shared, baseline: schemes[0] });
}
