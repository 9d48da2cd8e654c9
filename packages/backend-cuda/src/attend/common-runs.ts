/**
 * The tokens that both tensors of a sequence show, as runs over which neither changes its page.
 */
import type { Span } from '@lowbit-kv/core';

/** Called with the position of the first token, how many there are, and the spans that hold them. */
export type VisitRun = (position: number, count: number, key: Span, value: Span) => void;

/** Visits runs in rising position. Positions that only one of the tensors still has are seen by no query. */
export function visitCommonRuns(
  keys: readonly Span[],
  values: readonly Span[],
  visit: VisitRun,
): void {
  for (let i = 0, j = 0; i < keys.length && j < values.length; ) {
    const key = keys[i] as Span;
    const value = values[j] as Span;
    const keyEnd = key.position + key.count;
    const valueEnd = value.position + value.count;
    const first = Math.max(key.position, value.position);
    const end = Math.min(keyEnd, valueEnd);
    if (first < end) visit(first, end - first, key, value);
    if (keyEnd <= end) i++;
    if (valueEnd <= end) j++;
  }
}
