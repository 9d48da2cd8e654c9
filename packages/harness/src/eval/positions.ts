/**
 * Where in a window a prediction stands. The position of a prediction is that of the predicted token, which is the number
 * of tokens before it; the first token of a window is not predicted.
 */

/** Positions `from <= position < to`. */
export interface PositionSpan {
  readonly from: number;
  readonly to: number;
}

/** Where the first bucket ends; every further one ends at twice that. */
const FIRST_BUCKET_END = 128;
/** Points of a curve over position. */
const CURVE_POINTS = 32;

/** [1, 128), [128, 256), [256, 512) and so on, up to the end of the window. */
export function positionBuckets(windowTokens: number): PositionSpan[] {
  const buckets: PositionSpan[] = [];
  for (let from = 1, end = FIRST_BUCKET_END; from < windowTokens; from = end, end *= 2) {
    buckets.push({ from, to: Math.min(end, windowTokens) });
    if (end >= windowTokens) break;
  }
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
