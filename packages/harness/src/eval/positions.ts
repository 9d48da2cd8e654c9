/**
 * Where in a window a prediction stands. The position of a prediction is that of the predicted token, which is the number
 * of tokens before it; the first token of a window is not predicted.
 */

/** Positions `from <= position < to`. */
export interface PositionSpan {
  readonly from: number;
  readonly to: number;
}

/** Where the first bucket ends at the earliest; every further one ends at twice that. */
const FIRST_BUCKET_END = 128;
/** So many fit a line of a report. */
const BUCKETS = 8;
/** Points of a curve over position. */
const CURVE_POINTS = 32;

/** [1, 128), [128, 256), [256, 512) and so on up to the end of the window; at most 8, in windows beyond 16384 wider ones. */
export function positionBuckets(windowTokens: number): PositionSpan[] {
  let end = FIRST_BUCKET_END;
  while (end * 2 ** (BUCKETS - 1) < windowTokens) end *= 2;
  const buckets: PositionSpan[] = [];
  for (let from = 1; from < windowTokens; from = end, end *= 2)
    buckets.push({ from, to: Math.min(end, windowTokens) });
  return buckets;
}

/** At most 32 spans of nearly equal length that cover all positions. */
export function curveSpans(windowTokens: number): PositionSpan[] {
  const predictions = windowTokens - 1;
  const points = Math.min(CURVE_POINTS, predictions);
  const edge = (point: number) => 1 + Math.floor((point * predictions) / points);
  return Array.from({ length: points }, (_, point) => ({
    from: edge(point),
    to: edge(point + 1),
  }));
}
