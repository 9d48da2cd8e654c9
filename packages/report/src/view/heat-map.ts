/** Errors by layer, and the worst of them in words. */
import { short } from './figures.js';
import type { HeatGroup, HeatRow } from './view.js';

/** Named of each group. */
const WORST = 3;

/** `name` is what the rows are rows of, as in `Worst NAME: ...`. */
export function heatGroup(
  name: string,
  layers: readonly number[],
  rows: readonly HeatRow[],
): HeatGroup {
  const worst = worstCells(layers, rows)
    .slice(0, WORST)
    .map(({ value, place }) => `${place} (${value === null ? 'not finite' : short(value)})`);
  return { name, rows, worst: worst.join(', ') };
}

/** Rows of heads, `[layers][heads]` given; `label` and `place` come before their numbers. */
export function headRows(
  heads: readonly (readonly (number | null)[])[],
  { label, place }: { readonly label: string; readonly place: string },
): HeatRow[] {
  const count = Math.max(0, ...heads.map(({ length }) => length));
  return Array.from({ length: count }, (_, head) => ({
    label: `${label} ${head}`,
    place: `${place} ${head}`,
    values: heads.map((values) => values[head] ?? null),
  }));
}

/** Largest first. Not finite is worse than any number. */
export function worstCells(layers: readonly number[], rows: readonly HeatRow[]) {
  const size = (value: number | null) => value ?? Number.POSITIVE_INFINITY;
  return rows
    .flatMap(({ place, values }) =>
      values.map((value, x) => ({ value, place: `layer ${layers[x]} ${place}`.trimEnd() })),
    )
    .sort((a, b) => (size(a.value) === size(b.value) ? 0 : size(b.value) - size(a.value)));
}
