/**
 * What masks let a query see: everything up to itself, the newest positions up to itself, or something that a cache of
 * ours cannot show.
 */
import { NEVER_SEEN } from '../attention/mask-limit.js';
import type { MaskValue } from '../attention/site.js';

export interface MaskNumbers {
  readonly kind: MaskValue['kind'];
  readonly data: Float32Array;
  readonly dims: readonly number[];
}

/** Positions a query sees, its own included; null: all. A text says why it is neither. */
export type Sight = { readonly window: number | null } | { readonly reason: string };

/** The queries of a probe: `tokens` new ones behind `past` others. */
export interface ProbeStep {
  readonly past: number;
  readonly tokens: number;
}

/** For every head. `causal`: later positions are hidden, whatever masks say. */
export function sightOf(masks: readonly MaskNumbers[], step: ProbeStep, causal: boolean): Sight {
  const total = step.past + step.tokens;
  const views: MaskView[] = [];
  for (const mask of masks) {
    const view = broadcast(mask, step.tokens, total);
    if (view === null) return { reason: `its mask has the shape [${mask.dims.join(', ')}]` };
    views.push(view);
  }
  const counts: { readonly query: number; readonly count: number }[] = [];
  for (let head = 0; head < Math.max(1, ...views.map((view) => view.heads)); head++) {
    for (let query = step.past; query < total; query++) {
      const addedAt = (position: number) =>
        views.reduce((sum, view) => sum + view.at(head, query - step.past, position), 0);
      const count = countSeen(addedAt, query, causal ? query + 1 : total);
      if (typeof count === 'string') return { reason: count };
      counts.push({ query, count });
    }
  }
  const window = Math.max(...counts.map(({ count }) => count));
  const odd = counts.find(({ query, count }) => count !== Math.min(query + 1, window));
  if (odd !== undefined)
    return { reason: `its mask lets query ${odd.query} see ${odd.count} positions` };
  return { window: window === total ? null : window };
}

/** How many newest positions a query sees of those before `end`, itself included; a text when it sees others. */
function countSeen(
  addedAt: (position: number) => number,
  query: number,
  end: number,
): number | string {
  let count = 0;
  for (let position = 0; position < end; position++) {
    const added = addedAt(position);
    const seen = added === 0;
    if (!seen && !(added <= NEVER_SEEN))
      return `its mask adds ${added} to query ${query} and position ${position}`;
    if (seen && position > query) return `its mask lets query ${query} see position ${position}`;
    if (!seen && count > 0 && position <= query)
      return `its mask hides position ${position} from query ${query}`;
    if (seen) count++;
  }
  return count;
}

interface MaskView {
  readonly heads: number;
  /** What is added to a logit: 0, or minus infinity where a position is hidden. */
  at(head: number, query: number, position: number): number;
}

/** As `[1, heads or 1, tokens or 1, total or 1]`; null for another shape. */
function broadcast(
  { kind, data, dims }: MaskNumbers,
  tokens: number,
  total: number,
): MaskView | null {
  const [batch = 1, heads = 1, rows = 1, columns = 1] = [...Array(4).fill(1), ...dims].slice(-4);
  const fits = (size: number, full: number) => size === 1 || size === full;
  if (dims.length > 4 || batch !== 1 || !fits(rows, tokens) || !fits(columns, total)) return null;
  return {
    heads,
    at(head, query, position) {
      const row = (heads === 1 ? 0 : head) * rows + (rows === 1 ? 0 : query);
      const value = data[row * columns + (columns === 1 ? 0 : position)] ?? Number.NaN;
      if (kind === 'added') return value;
      const seen = (value !== 0) === (kind === 'boolean');
      return seen ? 0 : Number.NEGATIVE_INFINITY;
    },
  };
}
