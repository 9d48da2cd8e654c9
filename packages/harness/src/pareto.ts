/** The schemes of a report that no other beats in both bits and error. */
import type { SchemeRow, VerdictLevel } from './report.js';

/** Rows whose figures say nothing about a quantizer. */
const WITHOUT_FIGURES: readonly VerdictLevel[] = ['baseline', 'unmeasured', 'invalid'];

/**
 * Ids by rising bits (`bits.attended`: windows and what waits to be packed included). A row is beaten by one that has at most
 * its bits and at most its output NMSE, and less of one of them; rows that are equal in both stand side by side.
 */
export function paretoFront(rows: readonly SchemeRow[]): string[] {
  const points = rows.flatMap((row) => {
    if (row.status !== 'measured' || WITHOUT_FIGURES.includes(row.verdict.level)) return [];
    const error = row.output.nmse;
    return error === null ? [] : [{ id: row.id, bits: row.bits.attended, error }];
  });
  points.sort((a, b) => a.bits - b.bits || a.error - b.error);
  const front: typeof points = [];
  for (const point of points) {
    const last = front.at(-1);
    const equal = last?.bits === point.bits && last.error === point.error;
    if (last === undefined || point.error < last.error || equal) front.push(point);
  }
  return front.map(({ id }) => id);
}
