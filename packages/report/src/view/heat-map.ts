/** Errors by layer and head, and the worst of them in words. */
import { short } from './figures.js';
import type { HeatMapView } from './view.js';

/** Named below a heat map. */
const WORST = 3;

type Grid = Omit<HeatMapView, 'worst'>;

export function heatMap(grid: Grid): HeatMapView {
  const cells = grid.values.flatMap((row, y) =>
    row.map((value, x) => ({ value, place: `layer ${grid.layers[x]} ${grid.rows[y]}` })),
  );
  // Not finite is worse than any number.
  const size = (value: number | null) => value ?? Number.POSITIVE_INFINITY;
  const worst = cells
    .toSorted((a, b) => (size(a.value) === size(b.value) ? 0 : size(b.value) - size(a.value)))
    .slice(0, WORST)
    .map(({ value, place }) => `${place} (${value === null ? 'not finite' : short(value)})`);
  return { ...grid, worst: worst.join(', ') };
}

/** Of attention outputs: query heads by layers. Null where the report has none. */
export function headMap(
  layers: readonly { readonly layer: number; readonly heads: readonly (number | null)[] }[],
): HeatMapView | null {
  const heads = layers[0]?.heads.length ?? 0;
  if (heads === 0) return null;
  return heatMap({
    title: 'Attention outputs: NMSE by query head',
    rowName: 'head',
    layers: layers.map(({ layer }) => layer),
    rows: Array.from({ length: heads }, (_, head) => `head ${head}`),
    values: Array.from({ length: heads }, (_, head) =>
      layers.map((layer) => layer.heads[head] ?? null),
    ),
  });
}
