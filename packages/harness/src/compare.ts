/**
 * Compares schemes on a capture: replays decoding with each through a real cache and measures what attention loses.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import type { CompareOptions } from './compare-options.js';
import type { CompareWork } from './compare-work.js';
import { type CompareUnit, Comparison } from './comparison.js';
import { F16 } from './f16-scheme.js';
import { paretoFront } from './pareto.js';
import type { CompareReport, SchemeRow } from './report.js';

/**
 * Runs the comparison. Throws MEASUREMENT_INVALID when a self-check of the run fails, OPTION_INVALID for two schemes of
 * one id, BACKEND_UNAVAILABLE, the reason of the signal, and what reading the capture throws. A scheme that does not fit is a row with its reason.
 */
export async function compareSchemes(options: CompareOptions): Promise<CompareReport> {
  checkIds(options);
  const comparison = await Comparison.open(options);
  return compareReport(comparison.work, await comparison.measure());
}

/** The report, from the results of all units. */
export function compareReport(
  { capture, backend, reference, replay, thresholds, schemes }: CompareWork,
  results: ReadonlyMap<string, CompareUnit>,
): CompareReport {
  const rows = [F16, ...schemes].map(({ id }) => results.get(id)?.row as SchemeRow);
  return {
    reportVersion: 1,
    capture,
    backend,
    reference,
    replay,
    thresholds,
    checks: results.get(F16.id)?.checks ?? [],
    valid: rows.every(({ verdict }) => verdict.level !== 'invalid'),
    schemes: rows,
    paretoFront: paretoFront(rows),
  };
}

/** Throws OPTION_INVALID for two rows of one id. */
export function checkIds({
  schemes,
  simulations = [],
}: Pick<CompareOptions, 'schemes' | 'simulations'>): void {
  const ids = [F16, ...schemes, ...simulations].map(({ id }) => id);
  const twice = ids.find((id, i) => ids.indexOf(id) !== i);
  if (twice === undefined) return;
  throw new LowbitKvError('OPTION_INVALID', {
    message: 'two rows of a comparison have the same id',
    value: twice,
    valid: 'different ids; f16 is the baseline, which is always there',
    next: 'Rename one scheme.',
    where: { field: 'schemes' },
  });
}
