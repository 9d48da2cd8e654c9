/**
 * Which logits attention holds: one row per query and query head, one column per position that some query may see.
 */
import type { LayerGeometry } from '../geometry.js';

export interface Columns {
  readonly firstVisible: number;
  readonly sinkColumns: number;
  readonly columns: number;
}

/** Whether the query of a row sees a position. */
export type Visible = (row: number, position: number) => boolean;

/** Column of a position; -1 when no query sees it. */
export function columnOf(position: number, layout: Columns): number {
  if (position < layout.sinkColumns) return position;
  return position < layout.firstVisible ? -1 : position - layout.firstVisible + layout.sinkColumns;
}

/** Whether a query at `query` sees `position`. */
export function isVisible(
  position: number,
  query: number,
  window: LayerGeometry['slidingWindow'],
): boolean {
  if (position > query) return false;
  return window === null || position < window.sinks || position > query - window.size;
}

/** The logit of a dot product: scaled, and capped where the geometry says so. */
export function logitOf(dot: number, { scale, softCap }: LayerGeometry): number {
  const logit = dot * scale;
  return softCap === null ? logit : softCap * Math.tanh(logit / softCap);
}
